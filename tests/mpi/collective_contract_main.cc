// Run by mpirun: the contract of collectives between processes.
#include <cstdlib>

#include "systole/runtime/mpi_collective.h"
#include "systole/runtime/testing/collective_contract.h"

namespace systole::runtime {
namespace {

std::unique_ptr<Collective> group() { return make_mpi_collective(std::chrono::seconds(20)); }

TEST(MpiCollective, KeepsItsContract) {
  for (const auto rule : {contract::adds_in_pairs, contract::reduces_every_kind_of_number,
                          contract::rounds_halves_once, contract::gathers_and_broadcasts,
                          contract::tells_every_rank_of_types_that_differ,
                          contract::tells_every_rank_of_operations_that_differ,
                          contract::refuses_what_has_no_order}) {
    rule(*group());
  }
  contract::ends_when_a_rank_leaves(group());
  group()->barrier();
}

}  // namespace
}  // namespace systole::runtime

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  if (systole::runtime::num_launched_processes() < 2) return EXIT_FAILURE;
  return RUN_ALL_TESTS();
}
