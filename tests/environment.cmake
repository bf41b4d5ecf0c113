# Read by ctest. Ranks on one host have separate memories, as over hosts, unless a test sets otherwise: by
# default they would map one memory (docs/decisions/one_host.md), and no protocol would be tested.
set(ENV{MUSUBI_COHERENCE} protocol)
