#include "plugin/live/page.h"

namespace megascope::live {

std::string_view page() noexcept {
  return R"(<!doctype html><html lang="en"><meta charset="utf-8"><link rel="icon" href="data:,"><title>MegaScope</title>
<style>body{font:16px/1.5 sans-serif;max-width:40em;margin:4em auto;padding:0 1em}</style>
<h1>MegaScope</h1>
<p>This run is served, but this build has no page: it was made without Node.js. Install <code>npm</code> and build MegaScope again.</p>
<p>What there is without it: <code>/api/v1/run</code>, <code>/api/v1/ranks</code>, <code>/metrics</code> and the WebSocket <code>/ws/v1</code>
(docs/live_protocol.md), each with the token of this page's address.</p></html>
)";
}

}  // namespace megascope::live
