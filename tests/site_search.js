// Asks the search of a built site: node site_search.js SITE WORD... prints the address of the first hits of each query as JSON.
// The site's own worker answers, with its own index, as in the browser; only the scope of a worker is replaced.
"use strict";
const fs = require("fs");
const path = require("path");
const vm = require("vm");

const [site, ...queries] = process.argv.slice(2);
const workers = path.join(site, "assets", "javascripts", "workers");
const worker = fs.readdirSync(workers).find((name) => /^search\..*\.js$/.test(name));
const index = JSON.parse(fs.readFileSync(path.join(site, "search", "search_index.json"), "utf8"));

const SETUP = 0, READY = 1, QUERY = 2, RESULT = 3;
const hits = {};
const listeners = [];
const asked = [...queries];

function receive(message) {
  if (message.type === RESULT) hits[asked.shift()] = message.data.items.slice(0, 5).map((found) => found[0].location);
  if (message.type === READY || message.type === RESULT) {
    if (asked.length) send({ type: QUERY, data: asked[0] });
    else console.log(JSON.stringify(hits));
  }
}
const send = (data) => setImmediate(() => listeners.forEach((listen) => listen({ data })));
const scope = vm.createContext({
  addEventListener: (kind, listen) => kind === "message" && listeners.push(listen),
  postMessage: receive,
  location: { href: "http://localhost/" },
  importScripts() {},
  console, URL, setTimeout, performance,
});
scope.self = scope;
vm.runInContext(fs.readFileSync(path.join(workers, worker), "utf8"), scope);
send({ type: SETUP, data: { config: index.config, docs: index.docs, options: { suggest: false } } });
