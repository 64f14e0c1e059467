#!/usr/bin/env bash
# Checks the links of the Markdown pages and writes the API pages to build/docs/html. Prints doxygen's warnings at the end.
set -euo pipefail
cd "$(dirname "$0")/.."
python3 tools/check_docs.py
mkdir -p build/docs
doxygen docs/Doxyfile
warnings=$(wc -l <build/docs/warnings.txt)
sed "s,$PWD/,," build/docs/warnings.txt
echo "docs: build/docs/html/index.html, $warnings lines of warnings"
