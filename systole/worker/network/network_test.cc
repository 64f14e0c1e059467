// Connections before gRPC sees them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>

#include "systole/base/testing/error_of.h"
#include "systole/worker/network/connections.h"
#include "systole/worker/network/listener.h"
#include "systole/worker/network/peer.h"
#include "systole/worker/network/watchdog.h"

namespace systole::worker {
namespace {

using systole::testing::error_of;
using ::testing::HasSubstr;
using ::testing::StartsWith;

TEST(Peer, IsReadFromGrpc) {
  const auto ipv4 = parse_peer("ipv4:127.0.0.1:4711");
  ASSERT_TRUE(ipv4);
  EXPECT_EQ(ipv4->port, 4711);
  EXPECT_EQ(parse_peer("ipv6:%5B::ffff:127.0.0.1%5D:4711"), ipv4);
  const auto ipv6 = parse_peer("ipv6:%5B::1%5D:80");
  ASSERT_TRUE(ipv6);
  EXPECT_EQ(parse_peer("ipv6:[::1]:80"), ipv6);
  EXPECT_EQ(parse_peer("ipv6:%5Bfe80::1%25eth0%5D:80"), parse_peer("ipv6:[fe80::1]:80"));
  for (const char* text : {"", "unix:/tmp/x", "ipv4:", "ipv4:1.2.3.4", "ipv4:1.2.3:5", "ipv6:x:1",
                           "ipv4:1.2.3.4:99999"}) {
    EXPECT_FALSE(parse_peer(text)) << text;
  }
}

TEST(Listener, ListensAtEachAddressOfAName) {
  const Listener both("localhost:0");
  EXPECT_GE(both.sockets().size(), 1U);
  const std::string port = std::to_string(both.port());
  EXPECT_THAT(error_of([&] { Listener again("127.0.0.1:" + port); }),
              AllOf(StartsWith("UNAVAILABLE"), HasSubstr("in use")));
  EXPECT_THAT(error_of([] { Listener other("192.0.2.1:0"); }), StartsWith("UNAVAILABLE"));
  EXPECT_THAT(error_of([] { Listener none("no-such-host.invalid:0"); }), StartsWith("UNAVAILABLE"));
}

Peer peer(uint8_t host, uint16_t port) { return {.address = {host}, .port = port}; }

// A descriptor that has another end.
int descriptor() {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  ::close(ends[1]);
  return ends[0];
}

TEST(Connections, MakeRoomForThoseOfOthers) {
  Connections connections({.max_strangers = 3});
  connections.add(descriptor(), peer(1, 1));
  for (uint16_t port = 1; port <= 10; ++port) connections.add(descriptor(), peer(2, port));
  EXPECT_EQ(connections.num_strangers(), 3);
  EXPECT_NE(connections.find(peer(1, 1)), nullptr) << "another address has more";
  EXPECT_EQ(connections.find(peer(2, 8)), nullptr);
  EXPECT_NE(connections.find(peer(2, 10)), nullptr);
}

TEST(Connections, KeepThoseThatHaveShownTheToken) {
  Connections connections({.max_strangers = 2, .max_known = 2, .idle_seconds = 0});
  const auto first = connections.add(descriptor(), peer(1, 1));
  EXPECT_TRUE(connections.make_known(*first));
  first->call_began();
  for (uint16_t port = 1; port <= 5; ++port) connections.add(descriptor(), peer(2, port));
  EXPECT_EQ(connections.find(peer(1, 1)), first);
  const auto second = connections.find(peer(2, 5));
  EXPECT_TRUE(connections.make_known(*second));
  const auto third = connections.find(peer(2, 4));
  EXPECT_TRUE(connections.make_known(*third)) << "the second has no call";
  EXPECT_EQ(connections.find(peer(2, 5)), nullptr);
  third->call_began();
  const auto fourth = connections.add(descriptor(), peer(3, 1));
  EXPECT_FALSE(connections.make_known(*fourth));
  EXPECT_EQ(connections.num_known(), 2);
}

TEST(Connections, EndAtTheirDeadline) {
  Connections connections({.stranger_seconds = 10, .max_known = 2});
  const auto known = connections.add(descriptor(), peer(1, 1));
  EXPECT_TRUE(connections.make_known(*known));
  connections.add(descriptor(), peer(1, 2));
  connections.check(Connection::Clock::now() + std::chrono::seconds(9));
  EXPECT_EQ(connections.num_strangers(), 1);
  connections.check(Connection::Clock::now() + std::chrono::seconds(11));
  EXPECT_EQ(connections.num_strangers(), 0);
  EXPECT_EQ(connections.num_known(), 1);
}

TEST(Watchdog, BarksOnceAfterAllTries) {
  std::atomic<int> probes = 0;
  std::atomic<int> barks = 0;
  {
    const Watchdog dog(
        {.every_seconds = 0.001, .tries = 3}, [&] { return ++probes % 3 == 0 || probes > 6; },
        [&] { ++barks; });
    for (int i = 0; i < 1000 && probes < 20; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  EXPECT_GE(probes, 20);
  EXPECT_EQ(barks, 0);
  const Watchdog dog(
      {.every_seconds = 0.001, .tries = 3}, [] { return false; }, [&] { ++barks; });
  for (int i = 0; i < 1000 && barks == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_EQ(barks, 1);
}

}  // namespace
}  // namespace systole::worker
