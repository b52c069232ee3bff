#!/usr/bin/env bash
# Writes the entry of this version for the solver database of VNN-LIB: entry.sh FOLDER URL [PACKAGE]
# FOLDER: the clone of the database; solvers/bf-aot/VERSION/ is made in it. URL: the project's page.
# PACKAGE: what pip installs, such as the address of the release's wheel; default: bf-aot==VERSION.
set -euo pipefail
[[ $# -ge 2 && $# -le 3 ]] || { echo "usage: $0 FOLDER URL [PACKAGE]" >&2; exit 1; }
root=$(cd "$(dirname "$0")/../.." && pwd)
version=$(sed -n 's/^project(bf_aot VERSION \([0-9.]*\).*/\1/p' "$root/CMakeLists.txt")
entry=$1/solvers/bf-aot/$version
mkdir -p "$entry"
cat >"$entry/install.sh" <<END
#!/usr/bin/env bash
set -euo pipefail
# bf-aot $version
pip install '${3:-bf-aot==$version}'
END
chmod +x "$entry/install.sh"
cat >"$entry/solver.toml" <<END
name    = "bf-aot"
url     = "$2"
license = "Apache-2.0"
END
echo "$entry"
