"""What real programs on pymqi print when their queue manager is Ostler. The programs are in pymqi_programs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

EXPECTED = {
    "inquire_set": """\
manager b'DROPIN' 940
version b'09040000'
inhibited 1
set b'data' 0
unknown 2 2067
wrong value 2 2020
""",
    "message_properties": """\
body b'body'
b'text' 'hello'
b'flag' 1
b'blob' b'\\x01\\x02\\x03'
b'tiny' 8
b'small' -16
b'plain' 32
b'large' 1099511627776
b'single' 0.5
b'double' 0.125
missing 2 2471
too long 1 2469 5
rest b'without'
""",
    "pcf": """\
connected True
ping [{}]
create [{}]
found [(b'PCF.ONE', 11)]
filtered 2 2085
names [b'PCF.ONE']
status 0 [-1, -1]
refused 2 3065
refused 2 2085
refused 2 4001
refused 2 3014
connections True
delete [{}]
""",
    "put_get": """\
browsed b'one'
browsed b'a Python string'
got b'one' b'        ' 1208
got b'a Python string' b'MQSTR   ' 1208
size 4095
size 4096
size 100000
empty 2 2033
truncated 1 2079 b'0123' 10
put1 b'put1'
""",
    "request_reply": """\
reply b'reward' 2
""",
    "rfh2": """\
got b'behind' b'<mine><a>1</a></mine>   ' b'MQSTR   '
""",
    "structures": """\
size CD 1988
size CMHO 12
size GMO 112
size IMPO 64
size MD 364
size OD 424
size PD 24
size PMO 184
size SCO 628
size SD 344
size SMPO 20
size SRO 16
size TM 684
size TMC2 732
verbs True
connections True
""",
    "syncpoint": """\
depth 0
got b'committed' 0
got b'committed' 1
begin 1 2121
depth 0
""",
    "topics": """\
twice PYIFError
got b'opened by the first' b'by object'
managed b'SYSTEM.MANAGED.NDURABLE.'
resolved b'price/fruit/pears' 8
own b'for both' b'for both'
exists (2, 2432)
resumed b'sunny' True
told b'rain' b'weather' 7
properties weather rain
gone (2, 2428)
retained b'body' 1
nobody (1, 2550)
administered b'cloudy'
inquired [b'weather/#']
deleted (2, 2428)
unknown (2, 2085)
closed (2, 2051)
no subscribers (2, 2503)
unnamed (2, 2440)
no queue (2, 2019)
no action (2, 2046)
""",
    "wrong_calls": """\
unknown queue 2 2085
get from output 2 2037
md version 2 2026
put options 2 2046
subscribe 2 2019
unknown manager 2 2058
short error MQPMO wrong size. Given: 4, expected 184
wrong handle (2, 2018)
""",
}


@pytest.mark.parametrize("program", EXPECTED)
def test_program(program: str, binding: str, printed: Callable[[str, str], dict[str, dict[str, str]]]) -> None:
    found = printed("pymqi", binding)[program]
    assert found["output"] == EXPECTED[program], found["errors"]
    assert not found["errors"]
