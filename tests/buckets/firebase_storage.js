// Serves the storage emulator of firebase-tools on a free port of the loopback interface and prints the port. The folder of
// node_modules is the argument. Its rules are not loaded: that would need Java.
const folder = process.argv[2];
const { createApp } = require(`${folder}/firebase-tools/lib/emulator/storage/server.js`);
const { StorageEmulator } = require(`${folder}/firebase-tools/lib/emulator/storage/index.js`);
const { EmulatorRegistry } = require(`${folder}/firebase-tools/lib/emulator/registry.js`);

const emulator = new StorageEmulator({
  projectId: "project",
  host: "127.0.0.1",
  port: 0,
  rules: { name: "storage.rules", content: "" },
});
createApp("project", emulator).then((app) => {
  const server = app.listen(0, "127.0.0.1", () => {
    const port = server.address().port;
    emulator.args.port = port;
    emulator.getInfo = () => ({ name: "storage", host: "127.0.0.1", port, listen: [] });
    EmulatorRegistry.INSTANCES.set("storage", emulator);
    console.log(port);
  });
});
