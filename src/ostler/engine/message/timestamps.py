"""PutDate and PutTime of the message descriptor: GMT, in hundredths of a second."""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64

_DAY_MS: Final = 86_400_000


@final
class PutClock:
    """Formats a time once for all puts within the same hundredth of a second."""

    def __init__(self) -> None:
        self._centisecond: i64 = -1
        self._day: i64 = -1
        self._date: bytes = b""
        self._stamp: bytes = b""

    def stamp(self, now_ms: i64) -> bytes:
        """Return PutDate and PutTime, 16 bytes: YYYYMMDDHHMMSSTH."""
        centisecond: i64 = now_ms // 10
        if centisecond != self._centisecond:
            self._centisecond = centisecond
            day: i64 = now_ms // _DAY_MS
            if day != self._day:
                self._day = day
                self._date = date_of_day(day)
            self._stamp = self._date + time_of_day(now_ms % _DAY_MS)
        return self._stamp


def time_of_day(in_day_ms: i64) -> bytes:
    seconds = in_day_ms // 1000
    hundredths = in_day_ms % 1000 // 10
    text = f"{seconds // 3600:02d}{seconds // 60 % 60:02d}{seconds % 60:02d}{hundredths:02d}"
    return text.encode("ascii")


def date_of_day(day: i64) -> bytes:
    """Return the date of a day counted from 1970-01-01 (proleptic Gregorian calendar), as YYYYMMDD."""
    shifted = day + 719468
    era = shifted // 146097
    of_era = shifted - era * 146097
    year_of_era = (of_era - of_era // 1460 + of_era // 36524 - of_era // 146096) // 365
    of_year = of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    shifted_month = (5 * of_year + 2) // 153
    day_of_month = of_year - (153 * shifted_month + 2) // 5 + 1
    month = shifted_month + 3 if shifted_month < 10 else shifted_month - 9
    year = year_of_era + era * 400 + (1 if month <= 2 else 0)
    return f"{year:04d}{month:02d}{day_of_month:02d}".encode("ascii")


def milliseconds_of(date_and_time: bytes) -> int:
    """Convert PutDate and PutTime to milliseconds since the epoch; 0 when they are not digits."""
    if len(date_and_time) != 16 or not date_and_time.isdigit():
        return 0
    year, month, day = int(date_and_time[0:4]), int(date_and_time[4:6]), int(date_and_time[6:8])
    shifted_year = year - (1 if month <= 2 else 0)
    era = shifted_year // 400
    year_of_era = shifted_year - era * 400
    of_year = (153 * (month - 3 if month > 2 else month + 9) + 2) // 5 + day - 1
    of_era = year_of_era * 365 + year_of_era // 4 - year_of_era // 100 + of_year
    days = era * 146097 + of_era - 719468
    seconds = int(date_and_time[8:10]) * 3600 + int(date_and_time[10:12]) * 60 + int(date_and_time[12:14])
    return days * _DAY_MS + seconds * 1000 + int(date_and_time[14:16]) * 10
