#!/usr/bin/env bash
# Installs what is needed, reads some pages while `optrace serve` receives the spans, and prints two
# reports: on the profiles of ONNX Runtime, and on the requests with the operations below them.
# OUT=FOLDER keeps the profiles and the reports there. With -open the page of `optrace serve` stays,
# in the browser, until Ctrl-C.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
out=${OUT:-$here/profiles}
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$here"

[ -e node_modules/.package-lock.json ] || npm ci --no-audit --no-fund
go build -C ../.. -o "$out/optrace" ./cmd/optrace

listen=(-listen 127.0.0.1:0 -otlp-http 127.0.0.1:0 -otlp-grpc -)
"$out/optrace" serve "${listen[@]}" "$@" > "$out/addresses" & server=$!
trap 'kill $server 2>/dev/null || true; wait $server || true' EXIT
until grep -q '^OTLP/HTTP' "$out/addresses"; do
  kill -0 $server
  sleep 0.1
done
page=$(awk '$1 == "page" {print $2}' "$out/addresses")
endpoint=$(awk '$1 == "OTLP/HTTP" {print $2}' "$out/addresses")

OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=$endpoint node main.js "$out"

printf '\n== the profiles of ONNX Runtime\n'
"$out/optrace" report -section operations -top 8 "$out"/{detect,recognise}_*.json | tee "$out/profiles.txt"
printf '\n== the requests, and the operations below them\n'
curl -sS "$page?format=text" > "$out/requests.txt"
curl -sS "$page?format=json" > "$out/requests.json"
curl -sS "$page?format=collapsed" > "$out/requests.folded"
sed -n '/^SLOWEST REQUEST/,/^$/p' "$out/requests.txt"

if [[ " $* " == *" -open "* ]]; then
  echo "$page is open until Ctrl-C"
  wait $server
fi
