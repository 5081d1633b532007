"""Tables of code pages: the Python codec of each CCSID, and the pages Python does not have.

A page is written as its differences from another page: the byte values that differ, in hexadecimal, and their
characters in the same order. `\\ufffe` marks a byte without a character.
"""

from __future__ import annotations

from typing import Final

# Single-byte code pages.
SINGLE_BYTE_CODECS: Final[dict[int, str]] = {
    37: "cp037",
    367: "ascii",
    424: "cp424",
    437: "cp437",
    500: "cp500",
    720: "cp720",
    737: "cp737",
    775: "cp775",
    813: "iso8859_7",
    819: "latin_1",
    850: "cp850",
    852: "cp852",
    855: "cp855",
    856: "cp856",
    857: "cp857",
    858: "cp858",
    860: "cp860",
    861: "cp861",
    862: "cp862",
    863: "cp863",
    864: "cp864",
    865: "cp865",
    866: "cp866",
    869: "cp869",
    875: "cp875",
    878: "koi8_r",
    912: "iso8859_2",
    913: "iso8859_3",
    914: "iso8859_4",
    915: "iso8859_5",
    916: "iso8859_8",
    920: "iso8859_9",
    921: "iso8859_13",
    923: "iso8859_15",
    1026: "cp1026",
    1089: "iso8859_6",
    1125: "cp1125",
    1140: "cp1140",
    1162: "cp874",
    1168: "koi8_u",
    1250: "cp1250",
    1251: "cp1251",
    1252: "cp1252",
    1253: "cp1253",
    1254: "cp1254",
    1255: "cp1255",
    1256: "cp1256",
    1257: "cp1257",
    1258: "cp1258",
    5346: "cp1250",
    5347: "cp1251",
    5348: "cp1252",
    5349: "cp1253",
    5350: "cp1254",
    5351: "cp1255",
    5352: "cp1256",
    5353: "cp1257",
    5354: "cp1258",
}

# Multi-byte code pages; letters and digits of names take one byte. Where IBM's page and the codec differ, they differ
# in a few symbols and in the private use areas.
MULTI_BYTE_CODECS: Final[dict[int, str]] = {
    932: "cp932",
    936: "gbk",
    943: "cp932",
    949: "cp949",
    950: "cp950",
    954: "euc_jp",
    970: "euc_kr",
    1208: "utf_8",
    1209: "utf_8",
    1363: "cp949",
    1370: "cp950",
    1375: "big5hkscs",
    1381: "gbk",
    1383: "gb2312",
    1386: "gbk",
    1392: "gb18030",
    5039: "shift_jis",
    5050: "euc_jp",
    5488: "gb18030",
    33722: "euc_jp",
}

# UTF-16 in the byte order of the integer encoding of the data.
UTF_16_BY_ENCODING: Final[frozenset[int]] = frozenset({1200, 13488, 17584})

# UTF-16 in a byte order that is part of the CCSID.
UTF_16_FIXED: Final[dict[int, str]] = {
    1201: "utf_16_be",
    1202: "utf_16_le",
    1203: "utf_16_le",
}

# CCSID: (base page, bytes that differ, their characters).
DIFFERENCES: Final[dict[int, tuple[int, str, str]]] = {
    # Germany, Austria.
    273: (
        37,
        "434a4f595a5f636a7ca1b0b5babbc0ccd0dce0ecfc",
        "{\xc4!~\xdc^[\xf6\xa7\xdf\xa2@\xac|\xe4\xa6\xfc}\xd6\\]",
    ),
    # Denmark, Norway.
    277: (
        37,
        "474a4f5a5b5f676a707b7c809c9e9fa1b0babbc0d0dc",
        "}#!\xa4\xc5^$\xf8\xa6\xc6\xd8@{[]\xfc\xa2\xac|\xe6\xe5~",
    ),
    # Finland, Sweden.
    278: (
        37,
        "43474a4f515a5b5f63676a71797b7c9fa1b0b5babbc0ccd0dce0ec",
        "{}\xa7!`\xa4\xc5^#$\xf6\\\xe9\xc4\xd6]\xfc\xa2[\xac|\xe4\xa6\xe5~\xc9@",
    ),
    # Italy.
    280: (
        37,
        "44484a4f5154585a5f6a797b7c90a1b0b1b5babbc0cdd0dde0",
        "{\\\xb0!]}~\xe9^\xf2\xf9\xa3\xa7[\xec\xa2#@\xac|\xe0\xa6\xe8`\xe7",
    ),
    # Spain, Latin America.
    284: (37, "494a5a696a7ba1b0babbbd", "\xa6[]#\xf1\xd1\xa8\xa2^!~"),
    # United Kingdom.
    285: (37, "4a5ba1b0b1babc", "$\xa3\xaf\xa2[^~"),
    # France.
    297: (
        37,
        "44484a4f51545a5f6a797b7c90a0a1b0b1b5babbbdc0d0dde0",
        "@\\\xb0!{}\xa7^\xf9\xb5\xa3\xe0[`\xa8\xa2#]\xac|~\xe9\xe8\xa6\xe7",
    ),
    # Thailand.
    838: (
        37,
        "42434445464748495152535455565758596263646566676869707172737475767778808a8b8c8d8e8f909a9b9c9d9e9fa0aa"
        "abacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfcacbcccdcecfdadbdcdddedfe1eaebecedeeeffafbfcfdfe",
        "\u0e01\u0e02\u0e03\u0e04\u0e05\u0e06\u0e07[\u0e48\u0e08\u0e09\u0e0a\u0e0b\u0e0c\u0e0d\u0e0e]\u0e0f"
        "\u0e10\u0e11\u0e12\u0e13\u0e14\u0e15^\u0e3f\u0e4e\u0e16\u0e17\u0e18\u0e19\u0e1a\u0e1b\u0e1c\u0e4f"
        "\u0e1d\u0e1e\u0e1f\u0e20\u0e21\u0e22\u0e5a\u0e23\u0e24\u0e25\u0e26\u0e27\u0e28\u0e5b\u0e29\u0e2a"
        "\u0e2b\u0e2c\u0e2d\u0e2e\u0e50\u0e51\u0e52\u0e53\u0e54\u0e55\u0e56\u0e57\u0e58\u0e59\u0e2f\u0e30"
        "\u0e31\u0e32\u0e33\u0e34\u0e49\u0e35\u0e36\u0e37\u0e38\u0e39\u0e3a\u0e40\u0e41\u0e42\u0e43\u0e44"
        "\u0e4a\u0e45\u0e46\u0e47\u0e48\u0e49\u0e4a\u0e4b\u0e4c\u0e4d\u0e4b\u0e4c",
    ),
    # Latin 2.
    870: (
        37,
        "444647494a4f525457585a5f646667696a7072747778808a8b8c8e8f9a9b9c9ea0aaabacaeafb0b1b2b3b4b6b7b8b9babbbc"
        "cdcfdadbdddfeaedeffafbfd",
        "\u0163\u0103\u010d\u0107[!\u0119\u016f\u013e\u013a]^\u02dd\u0102\u010c\u0106|\u02c7\u0118\u016e"
        "\u013d\u0139\u02d8\u015b\u0148\u0111\u0159\u015f\u0142\u0144\u0161\u02db\u0105\u015a\u0147\u0110"
        "\u0158\u015e\u02d9\u0104\u017c\u0162\u017b\u017e\u017a\u017d\u0179\u0141\u0143\u0160\u0155\u0151"
        "\u011a\u0171\u0165\u011b\u010f\u0154\u0150\u010e\u0170\u0164",
    ),
    # Iceland.
    871: (
        37,
        "4a4f5a5f797c8c8e9c9ea1acaeb0babbbec0ccd0e0ec",
        "\xde!\xc6\xd6\xf0\xd0`{}]\xf6@[\xa2\xac|\\\xfe~\xe6\xb4^",
    ),
    # Thailand, PC data.
    874: (
        1162,
        "808591929394959697a0dbdcdddefcfdfeff",
        "\ufffe\ufffe\ufffe\ufffe\ufffe\ufffe\ufffe\ufffe\ufffe\u0e48\u0e49\u0e4a\u0e4b\u0e4c\xa2\xac\xa6\xa0",
    ),
    # Cyrillic.
    1025: (
        37,
        "42434445464748494a4f5152535455565758595a5f62636465666768696a707172737475767778808a8b8c8d8e8f909a9b9c"
        "9d9e9fa0aaabacadaeafb0b1b2b3b4b5b6b7b8b9babbbcbdbebfcacbcccdcecfdadbdcdddedfe1eaebecedeeeffafbfcfdfe",
        "\u0452\u0453\u0451\u0454\u0455\u0456\u0457\u0458[!\u0459\u045a\u045b\u045c\u045e\u045f\u042a\u2116"
        "\u0402]^\u0403\u0401\u0404\u0405\u0406\u0407\u0408\u0409|\u040a\u040b\u040c\xad\u040e\u040f\u044e"
        "\u0430\u0431\u0446\u0434\u0435\u0444\u0433\u0445\u0438\u0439\u043a\u043b\u043c\u043d\u043e\u043f"
        "\u044f\u0440\u0441\u0442\u0443\u0436\u0432\u044c\u044b\u0437\u0448\u044d\u0449\u0447\u044a\u042e"
        "\u0410\u0411\u0426\u0414\u0415\u0424\u0413\u0425\u0418\u0419\u041a\u041b\u041c\u041d\u041e\u041f"
        "\u042f\u0420\u0421\xa7\u0422\u0423\u0416\u0412\u042c\u042b\u0417\u0428\u042d\u0429\u0427",
    ),
    # Latin 1, open systems.
    1047: (37, "5fadb0babbbd", "^[\xac\xdd\xa8]"),
    # Baltic.
    1112: (
        37,
        "42444546484952535455565758626465666869727374757677788c8d8e9a9b9daaabacadaeb2bcbdbecbcddbdddedfebedfbfdfe",
        "\u0161\u0105\u012f\u016b\u0113\u017e\u0119\u0117\u010d\u0173\u201e\u201c\u0123\u0160\u0104\u012e"
        "\u016a\u0112\u017d\u0118\u0116\u010c\u0172\u012a\u013b\u0122\u0101\u017c\u0144\u0156\u0157\u0137"
        "\u201d\u017a\u0100\u017b\u0143\u012b\u0179\u0136\u013c\u014d\u0146\u0107\u0142\u015b\u2019\u014c"
        "\u0145\u0106\u0141\u015a",
    ),
    # Estonia.
    1122: (278, "8c8eacae", "\u0161\u017e\u0160\u017d"),
    # Ukraine.
    1123: (1025, "4362", "\u0491\u0490"),
    # The pages above with the euro sign.
    1141: (273, "9f", "\u20ac"),
    1142: (277, "5a", "\u20ac"),
    1143: (278, "5a", "\u20ac"),
    1144: (280, "9f", "\u20ac"),
    1145: (284, "9f", "\u20ac"),
    1146: (285, "9f", "\u20ac"),
    1147: (297, "9f", "\u20ac"),
    1148: (500, "9f", "\u20ac"),
    1149: (871, "9f", "\u20ac"),
    1153: (870, "9f", "\u20ac"),
    1154: (1025, "e1", "\u20ac"),
    1155: (1026, "9f", "\u20ac"),
    1156: (1112, "9f", "\u20ac"),
    1157: (1122, "5a", "\u20ac"),
    1158: (1123, "e1", "\u20ac"),
    1160: (838, "fe", "\u20ac"),
}
