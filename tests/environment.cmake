# Read by ctest. Ranks on one host have memories of their own, as over hosts, where a test does not say
# otherwise: by default they would map one (docs/decisions/one_host.md), and no protocol would be tested.
set(ENV{MUSUBI_COHERENCE} protocol)
