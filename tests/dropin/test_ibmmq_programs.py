"""What real programs on ibmmq print when their queue manager is Ostler. The programs are in ibmmq_programs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

EXPECTED = {
    "browse": """\
browsed message 0 True
browsed message 1 True
browsed message 2 True
browsed message 3 True
cursor message 0
by id message 3
truncated 1 2079 b'mes' 9
too long 1 2080 b'mes' 9
still there message 1
""",
    "callbacks": """\
busy 2 2500
all came True
got nobody's
CALLBACK.ONE ONE 0 0 area one/connection 5 0
CALLBACK.ONE ONE 2 2 area one/connection 5 0
CALLBACK.ONE before the start 4 area one/connection 16 0
CALLBACK.ONE fail 0 area one/connection 4 0
CALLBACK.TWO TWO 1 1 area two/connection 5 0
CALLBACK.TWO TWO 3 3 area two/connection 5 0
done 6
""",
    "callbacks_wait": """\
start
6 one 0
6 two 0
6 two 1
6 three 0
stop
7 four 0
7 five 0
event 2033
nobody to call 2 2446
taken now four five
""",
    "groups": """\
sequence 1 True
sequence 2 True
sequence 3 True
member one 1 G \x20
member two 2 G \x20
member three 3 L \x20
whole first half, second half
""",
    "headers": """\
rfh2 b'green' 1 b'<usr><colour>green</colour></usr>   '
dlh 2053 SOMEWHERE b'dead'
report 259 True True
report 260 True True
alias HEADERS through an alias
converted Zürich
""",
    "huge_messages": """\
too long 1 2080 b'0123456789' 20971520
whole True
next b'small'
""",
    "inquire_set": """\
manager DROPIN 3
several {31: 940, 2006: b'                                                ', 14: 9}
connected True
queue INQUIRE.SET 1
inhibited 2 2051
set some data 0
unknown 2 2067
not for queues 2 2067
wrong value 2 2020
cannot be set 2 2067
""",
    "large_messages": """\
0 0 True
4096 4096 True
4097 4097 True
70000 70000 True
4000000 4000000 True
too long 2 2030
""",
    "leaving_early": """\
name DROPIN {'module': '2.1.2', 'MQ': 940}
""",
    "message_properties": """\
selected red
no other 2033
body with properties
text 'příliš'
yes 1
no 0
blob b'\\x00\\x01\\x02'
tiny -8
small -1600
plain -320000
large -1125899906842624
single 1.5
double 2.25
nothing None
end of list 2471
names yes no blob tiny small plain large single double nothing
missing 2 2471
bad name 2 2442
too long 1 2469
deleted handle 2 2460
""",
    "pcf": """\
ping []
create []
queue PCF.ALIAS 3 None
queue PCF.ONE 1 11
queue PCF.TWO 1 22
filtered PCF.TWO [3, 15, 20, 2016]
like PCF.ONE
names ['PCF.ALIAS', 'PCF.ONE', 'PCF.TWO'] [3, 1, 1]
status 1 0
counts 1 0
not empty 2 2055 MQRC_Q_NOT_EMPTY
cleared 0
channel PCF.CHANNEL ours
no status 2 3065 MQRCCF_CHL_STATUS_NOT_FOUND
rule 10.1.2.* app
rule again 2 3337 MQRCCF_CHLAUTH_ALREADY_EXISTS
record apps [2, 9]
record deleted 0
escape True
manager DROPIN 940
server True
connections True
unknown 2 2085 MQRC_UNKNOWN_OBJECT_NAME
twice 2 4001 MQRCCF_OBJECT_ALREADY_EXISTS
wrong value 2 4005 MQRCCF_ATTR_VALUE_ERROR
wrong attribute 2 3015 MQRCCF_CFST_PARM_ID_ERROR
missing 2 3019 MQRCCF_PARM_COUNT_TOO_SMALL
no channel 2 4032 MQRCCF_CHANNEL_NOT_FOUND
collected 2085 0
channel deleted 0
gone 2 2085 MQRC_UNKNOWN_OBJECT_NAME
""",
    "put_get": """\
id 24 True True True
resolved PUT.GET DROPIN
got text: žluťoučký MQSTR 1 7 1208
got bytes  0 0 1208
got a Python string MQSTR 0 0 1208
empty 2 2033
put1 b'put1'
""",
    "put_status": """\
put 8 0 0 0 0
about  0
again 0 0 0
no type 2 2430
no type 2 2430
""",
    "request_reply": """\
dynamic True
reply ONE True
reply TWO True
reply THREE True
""",
    "statistics": """\
manager DROPIN 13
queue [1, 0] [5, 0] [1, 0]
depth 3 4
account [2, 1] [1, 0] [12, 10]
sizes [3, 10] [5, 10]
got [1, 0] 2
""",
    "structures": """\
size BNO 20
size CBC 64
size CBD 168
size CD 2000
size CMHO 12
size CNO 272
size CSP 104
size CTLO 24
size DLH 172
size DMHO 12
size DMPO 12
size GMO 112
size IIH 84
size IMPO 64
size MD 364
size MDE 72
size OD 424
size PD 24
size PMO 184
size SCO 672
size SD 344
size SMPO 20
size SRO 16
size STS 280
size TM 684
size TMC2 732
size XQH 104
verbs True
connections True
""",
    "subscriptions": """\
defaults 1 0 -1 -1 1 False
resolved b'news/#' 6 True ['CREATE', 'MANAGED']
managed True 2
got b'one' True
browsed b'two'
its queue 2085
selected b'red' b'CCCCCCCCCCCCCCCCCCCCCCCC' 3
properties red nets/colours mine
same queue True []
in use 2 2429
exists 2 2432
resumed ['sunny'] ['DURABLE', 'MANAGED', 'FIXED_USERID'] 36000 1 b'Weather'
SubUserData b'rain' 4
ResObjectString b'her' 7
altered b'windy' 8
gone 2 2428
unasked []
asked 2 ['1.08', '1.27']
only new ['1']
left b'slunce' počasí/Brno
texts počasí/Brno údaje
context True b'ours' b'ours'
by command ['defined'] ['DURABLE', 'MANAGED', 'ANY_USERID']
inquired [1]
by command ['defined'] ['DURABLE', 'ANY_USERID']
inquired [2]
no more 2 2428
own ['to all']
called ['to a callback']
""",
    "syncpoint": """\
before commit 2033
after commit a backouts 0
after backout a backouts 1
depth 1
left by disconnect b backouts 0
and then left open backouts 0
begin 2 2018
no more 2033
""",
    "threads": """\
['put', 'put', 'put'] 4
left 3
""",
    "topics": """\
resolved b'price/fruit/apples/red' 22 8
came ['at once', 'later', 'with the first', 'described']
came ['through an alias', 'put once', 'put once to an object']
put True True 9 b''
got b'told of' True True
MQTopicString price/fruit
mqps.Top price/fruit
MQIsRetained 2471
MQSubUserData 2471
retained b'told of' 1
levels ['to the highest'] ['below it']
headers b'with a header' [b'<usr><colour>green</colour></usr>   ']
before []
after ['done']
nobody 1 2550
""",
    "wrong_calls": """\
unknown queue 2 2085
unknown queue, put1 2 2085
bad name 2 2085
open options 2 2046
object type 2 2043
structure id 2 2026
md version 2 2026
pmo version 2 2173
gmo version 2 2186
od version 2 2044
put options 2 2046
get options 2 2046
priority 2 2050
persistence 2 2047
expiry 2 2013
report 2 2027
wait interval 2 2090
get from output 2 2037
put to input 2 2039
browse input 2 2036
closed handle 2 2019
close options 2 2045
selector 2 2459
control 2 2488
no callback 2 2448
no function 2 2534
subscribe 2 2019
unknown manager 2 2058
connect options 2 2046
cno 2 2139
csp 2 2595
token 2 2298
short error
text TypeError
wrong handle (2, 2018) (2, 2019)
""",
    "wrong_topics": """\
unknown topic 2 2085
no topic 2 2085
old descriptor 2 2085
wildcard was allowed
input 2 2045
open options 2 2046
closed to publishers 2 2051
closed, put once 2 2051
level 2 2173
get from a topic 2 2019
get from a subscription 2 2019
put to a subscription 2 2019
put to its queue 2 2039
options of groups 2 2417
close options 2 2045
no action 2 2046
unknown option 2 2046
both schemes 2 2046
group, managed 2 2046
new, on request 2 2046
level, on request 2 2046
structure 2 2424
version 2 2424
no destination 2 2019
destination is a topic 2 2019
no name 2 2440
no string 2 2085
no object 2 2085
expiry 2 2013
priority 2 2050
sub level 2 2046
selector 2 2459
closed to subscribers 2 2503
must not be durable 2 2436
already there 2 2432
in use 2 2429
unknown 2 2428
place for the topic 2 2520
other topic 2 2510
other level 2 2512
other selector 2 2524
other destination class 2 2533
other durability 2 2509
nothing retained 2 2437
action 2 2535
request options 2 2046
request version 2 2438
keep what passes 2 2045
keep and remove 2 2046
request of a topic (2, 2019)
request of nothing (2, 2019)
no connection (0, -1, 2, 2018)
no descriptor TypeError
no options TypeError
short error
text TypeError
""",
}
# Over the network the channel's limit comes first: it is that of the descriptor, 4 MB.
DIFFERENT = {("large_messages", "client"): ("too long 2 2030", "too long 2 2218")}
# Programs that show an exception of theirs and go on.
COMPLAINING = {"callbacks"}


@pytest.mark.parametrize("program", EXPECTED)
def test_program(program: str, binding: str, printed: Callable[[str, str], dict[str, dict[str, str]]]) -> None:
    found = printed("ibmmq", binding)[program]
    expected = EXPECTED[program].replace(*DIFFERENT.get((program, binding), ("", "")))
    assert found["output"] == expected, found["errors"]
    assert ("Traceback" in found["errors"]) == (program in COMPLAINING)
