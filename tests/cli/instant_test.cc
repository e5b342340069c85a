#include "cli/program/instant.h"

#include <catch2/catch.hpp>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <random>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "base/text/quantity_format.h"
#include "base/text/quantity_parse.h"
#include "cli/program/wall_clock.h"

namespace countrace::cli {
namespace {

const TraceExtent kTrace{.begin_ns = 25'903'058'299'663,
                         .duration_ns = 2'000'000'001};

// Of 2023, an hour after boot.
constexpr std::int64_t kBootNs = 1'700'000'000'123'456'789;

// A snapshot: its tables begin 100 s after its recording.
const TraceExtent kSnapshot{
    .begin_ns = 3'700'000'000'000,
    .duration_ns = 30'000'000'000,
    .recording_begin_ns = 3'600'000'000'000,
    .realtime_offset_ns = kBootNs,
    .triggers_ns = {3'650'000'000'000, 3'729'987'654'321}};

std::uint64_t At(const std::string& text, const TraceExtent& extent = kTrace) {
  const auto instant = ParseInstant(text, extent);
  INFO(text << ": " << instant.status());
  REQUIRE(instant.ok());
  return *instant;
}

}  // namespace

TEST_CASE("instant: a trigger after the last record is the end",
          "[cli][instant]") {
  TraceExtent extent = kSnapshot;
  const std::uint64_t end_ns = extent.end_ns();
  CHECK_FALSE(ParseInstant("@" + base::FormatSeconds(end_ns + 1), extent).ok());
  extent.triggers_ns.push_back(end_ns + 5'000'000'000);
  for (const std::string& text :
       {std::string("trigger"), std::string("trigger:3"),
        "@" + base::FormatSeconds(extent.triggers_ns.back()),
        base::FormatInstant(extent.triggers_ns.back() -
                            extent.recording_begin_ns),
        "@" + base::FormatSeconds(end_ns + 1)}) {
    CHECK(At(text, extent) == extent.duration_ns);
  }
  const auto range = ParseTimeRange("trigger", "", extent);
  REQUIRE(range.ok());
  CHECK(range->from_ns == end_ns);
  for (const char* text : {"100.1%", "200s"}) {
    CHECK_FALSE(ParseInstant(text, extent).ok());
  }
}

TEST_CASE("instant: every way to write one", "[cli][instant]") {
  CHECK(At("begin") == 0);
  CHECK(At("end") == kTrace.duration_ns);
  CHECK(At("0") == 0);
  CHECK(At("0ms") == 0);
  CHECK(At("1.5s") == 1'500'000'000);
  CHECK(At("+12ms") == 12'000'000);
  CHECK(At("1ns") == 1);
  CHECK(At("0%") == 0);
  CHECK(At("50%") == 1'000'000'000);
  CHECK(At("12.5%") == 250'000'000);
  CHECK(At("100%") == kTrace.duration_ns);
  // The spelling of `script`, and ns, on CLOCK_MONOTONIC: exact to the
  // nanosecond.
  CHECK(At("@25903.058299663") == 0);
  CHECK(At("@25905.058299664") == kTrace.duration_ns);
  CHECK(At("@25904") == 941'700'337);
  CHECK(At("@25904.5") == 1'441'700'337);
  CHECK(At("25903058299664") == 1);
  CHECK(At("25905058299664") == kTrace.duration_ns);
}

TEST_CASE("instant: outside the trace is an error with both numbers",
          "[cli][instant]") {
  const std::string text =
      GENERATE("3s", "2000000002ns", "101%", "@25903.058299662",
               "@25905.058299665", "25903058299662", "5");
  CAPTURE(text);
  const auto instant = ParseInstant(text, kTrace);
  REQUIRE_FALSE(instant.ok());
  const std::string message(instant.status().message());
  CAPTURE(message);
  CHECK(message.find(text) != std::string::npos);
  CHECK(absl::IsOutOfRange(instant.status()));
  CHECK((message.find("lasts 2.000000001 s") != std::string::npos ||
         message.find("@25905.058299664") != std::string::npos));
}

TEST_CASE("instant: what is none is refused with what is", "[cli][instant]") {
  const std::string text =
      GENERATE("", "half", "%", "-1s", "50  %", "-5%", "@", "@x", "@1.", "[1.5",
               "1.5]", "[]", "1 .5s", "1.5 s later", "triggers",
               "trigger:", "trigger:x", "1..5 s", "5 parsecs", "@1.1234567890",
               "1s2", "nan%", "@99999999999", "\x1b[31m");
  CAPTURE(text);
  const auto instant = ParseInstant(text, kTrace);
  REQUIRE_FALSE(instant.ok());
  CHECK(absl::IsInvalidArgument(instant.status()));
  const std::string message(instant.status().message());
  CHECK(message.find("50%") != std::string::npos);
  CHECK(message.find('\x1b') == std::string::npos);
}

TEST_CASE("instant: what any verb prints is the same instant again",
          "[cli][instant]") {
  std::mt19937_64 random(18);
  for (int round = 0; round < 1000; ++round) {
    const std::uint64_t at = random() % (kSnapshot.duration_ns + 1);
    const std::uint64_t clock_ns = kSnapshot.begin_ns + at;
    const std::string seconds = base::FormatSeconds(clock_ns);
    CAPTURE(at);
    // script, JSON, state, and a date as `info` prints it.
    CHECK(At("[" + seconds + "]", kSnapshot) == at);
    CHECK(At("@" + seconds, kSnapshot) == at);
    CHECK(At(seconds, kSnapshot) == at);
    CHECK(At(std::to_string(clock_ns), kSnapshot) == at);
    CHECK(At("+" + base::FormatSeconds(at), kSnapshot) == at);
    CHECK(At("+" + base::FormatSeconds(at) + " s", kSnapshot) == at);
    CHECK(At(FormatWallClock(static_cast<std::int64_t>(clock_ns) + kBootNs),
             kSnapshot) == at);
    // --by time: seconds since the beginning, without a unit.
    CHECK(At(base::FormatSeconds(at), kSnapshot) == at);
    if (at != 0) CHECK(At(base::PrintDurationNs(at), kSnapshot) == at);
    // Cut off or rounded by who printed it.
    CHECK(At(base::FormatInstant(at), kSnapshot) == at / 1000 * 1000);
    const std::uint64_t rounded =
        At(base::FormatNanoseconds(static_cast<double>(at / 2)), kSnapshot);
    CHECK(static_cast<double>(rounded) ==
          Approx(static_cast<double>(at / 2)).epsilon(0.005));
    // A trigger, since the beginning of the recording.
    CHECK(At(base::FormatInstant(clock_ns - kSnapshot.recording_begin_ns) +
                 " after the beginning",
             kSnapshot) == at / 1000 * 1000);
    CHECK(At(base::FormatInstant(clock_ns - kSnapshot.recording_begin_ns),
             kSnapshot) == at / 1000 * 1000);
  }
  CHECK(At("12.345 ms") == 12'345'000);
  CHECK(At("0.5 %") == 10'000'000);
  CHECK(At("0.00 s") == 0);
  CHECK(At("1.204\u2009512\u2009s") == 1'204'512'000);  // the page
  CHECK(At("431\u2009\u00b5s") == 431'000);
  CHECK(At("2023-11-14T23:15:20.123456789Z", kSnapshot) == 20'000'000'000);
  CHECK(At("2023-11-14 23:15:20.123456789Z", kSnapshot) == 20'000'000'000);
  CHECK(At("2023-11-15T00:15:20.123456789+01:00", kSnapshot) == 20'000'000'000);
  CHECK(At("2023-11-14T17:45:20.123456789-0530", kSnapshot) == 20'000'000'000);
}

TEST_CASE("instant: a trigger by its name", "[cli][instant]") {
  CHECK(At("trigger", kSnapshot) == 29'987'654'321);
  CHECK(At("trigger:2", kSnapshot) == 29'987'654'321);
  // It fired before the tables begin.
  CHECK(absl::IsOutOfRange(ParseInstant("trigger:1", kSnapshot).status()));
  CHECK(absl::IsOutOfRange(ParseInstant("trigger:3", kSnapshot).status()));
  CHECK(absl::IsOutOfRange(ParseInstant("trigger:0", kSnapshot).status()));
  CHECK(absl::IsOutOfRange(ParseInstant("trigger", kTrace).status()));
}

TEST_CASE("instant: a text with two meanings is refused with both",
          "[cli][instant]") {
  // Recorded at once after boot: 1.5 is in it on either scale.
  const TraceExtent boot{.begin_ns = 1'000'000'000,
                         .duration_ns = 5'000'000'000};
  const auto bare = ParseInstant("1.5", boot);
  CHECK(absl::IsInvalidArgument(bare.status()));
  CHECK(std::string(bare.status().message()).find("@2.500000000") !=
        std::string::npos);
  CHECK(std::string(bare.status().message()).find("@1.500000000") !=
        std::string::npos);
  CHECK(At("@1.5", boot) == 500'000'000);
  CHECK(At("+1.5", boot) == 1'500'000'000);
  CHECK(At("1.5s", boot) == 1'500'000'000);
  CHECK(At("5.5", boot) == 4'500'000'000);

  TraceExtent snapshot = kSnapshot;
  snapshot.recording_begin_ns = snapshot.begin_ns - 1'000'000'000;
  CHECK(absl::IsInvalidArgument(ParseInstant("2s", snapshot).status()));
  CHECK(At("+2s", snapshot) == 2'000'000'000);
  CHECK(At("2 s after the beginning", snapshot) == 1'000'000'000);
  CHECK(At("0.5s", snapshot) == 500'000'000);
}

TEST_CASE("instant: a date needs its zone, and has to exist",
          "[cli][instant]") {
  const std::string text = GENERATE(
      "2023-11-14T23:15:20", "2023-11-14", "2023-02-30T00:00:00Z",
      "2023-13-01T00:00:00Z", "2023-11-14T24:15:20Z", "2023-11-14T23:15:20.Z",
      "2023-11-14T23:15:20ZZ", "9999-11-14T23:15:20Z", "2023-11-00T23:15:20Z");
  CAPTURE(text);
  CHECK(absl::IsInvalidArgument(ParseInstant(text, kSnapshot).status()));
}

TEST_CASE("instant: a local time of day", "[cli][instant]") {
  const auto in_zone = [](const char* zone) {
    setenv("TZ", zone, 1);
    tzset();
  };
  TraceExtent extent = kSnapshot;
  const auto text_of = [&](std::uint64_t since_ns) {
    const std::int64_t ns =
        static_cast<std::int64_t>(extent.begin_ns + since_ns) + kBootNs;
    const std::time_t seconds = ns / 1'000'000'000;
    std::tm parts{};
    localtime_r(&seconds, &parts);
    char text[16];
    std::strftime(text, sizeof(text), "%H:%M:%S", &parts);
    return absl::StrFormat("%s.%09d", text, ns % 1'000'000'000);
  };
  std::mt19937_64 random(5);
  constexpr const char* kBerlin = "CET-1CEST,M3.5.0,M10.5.0/3";
  for (const char* zone : {"UTC0", kBerlin, "<+0545>-5:45",
                           "NST3:30NDT,M3.2.0,M11.1.0", "<+14>-14"}) {
    in_zone(zone);
    extent.duration_ns = 30'000'000'000;
    for (int i = 0; i < 50; ++i) {
      const std::uint64_t since_ns = random() % extent.duration_ns;
      INFO(zone << " " << text_of(since_ns));
      CHECK(At(text_of(since_ns), extent) == since_ns);
    }
    const std::string later = text_of(extent.duration_ns + 1);
    CHECK(ParseInstant(later, extent).status().code() ==
          absl::StatusCode::kOutOfRange);
    // Two days have it twice.
    const std::string begin = text_of(1);
    extent.duration_ns = 2 * 86'400 * std::uint64_t{1'000'000'000};
    const auto many = ParseInstant(begin, extent);
    CHECK(absl::StrContains(std::string(many.status().message()),
                            "means 2 instants"));
  }
  // Clocks in Berlin went from 3:00 back to 2:00, and from 2:00 on to 3:00.
  in_zone(kBerlin);
  const auto instants = [](const char* text, const char* from, const char* to) {
    return ParseTimeOfDay(text, *ParseWallClock(from), *ParseWallClock(to))
        ->size();
  };
  CHECK(instants("02:30", "2023-10-28T22:00:00Z", "2023-10-29T22:00:00Z") == 2);
  CHECK(instants("03:30", "2023-10-28T22:00:00Z", "2023-10-29T22:00:00Z") == 1);
  CHECK(instants("02:30", "2023-03-25T23:00:00Z", "2023-03-26T21:00:00Z") == 0);
  CHECK(instants("03:30", "2023-03-25T23:00:00Z", "2023-03-26T21:00:00Z") == 1);
  for (const char* text : {"24:00", "3:12", "03:60", "03:12:", "03:12:45.",
                           "03:12x", "03:12:45.1234567891"}) {
    CHECK_FALSE(ParseTimeOfDay(text, 0, 1));
    CHECK_FALSE(ParseInstant(text, extent).ok());
  }
  extent.realtime_offset_ns = 0;
  CHECK(ParseInstant("03:12", extent).status().code() ==
        absl::StatusCode::kInvalidArgument);
  unsetenv("TZ");
  tzset();
}

TEST_CASE("instant: another date is outside the trace", "[cli][instant]") {
  const std::string text =
      GENERATE("1970-01-01T00:00:00Z", "2023-11-14T23:14:59Z",
               "2023-11-14T23:15:31Z", "2200-01-01T00:00:00Z");
  CAPTURE(text);
  CHECK(absl::IsOutOfRange(ParseInstant(text, kSnapshot).status()));
}

TEST_CASE("wall clock: reads what it writes", "[cli][instant]") {
  std::mt19937_64 random(7);
  for (int round = 0; round < 1000; ++round) {
    const auto ns = static_cast<std::int64_t>(random() >> 1);
    CHECK(ParseWallClock(FormatWallClock(ns)) == ns);
  }
  CHECK(FormatWallClock(0) == "1970-01-01T00:00:00.000000000Z");
  CHECK(FormatWallClock(-1) == "1969-12-31T23:59:59.999999999Z");
}

TEST_CASE("time range: edges may lie outside, not all of it",
          "[cli][instant]") {
  const auto range = [](const std::string& from, const std::string& to) {
    return ParseTimeRange(from, to, kTrace);
  };
  const std::uint64_t begin = kTrace.begin_ns;
  CHECK(range("", "")->from_ns == 0);
  CHECK(range("", "")->to_ns == ~std::uint64_t{0});
  CHECK(range("0.5s", "1s")->from_ns == begin + 500'000'000);
  CHECK(range("0.5s", "1s")->to_ns == begin + 1'000'000'000);
  // Half-open, but the end includes the last record.
  CHECK(range("0.5s", "end")->to_ns == ~std::uint64_t{0});
  CHECK(range("0.5s", "5s")->to_ns == ~std::uint64_t{0});
  CHECK(range("@1", "1s")->from_ns == 1'000'000'000);
  CHECK(absl::IsOutOfRange(range("3s", "").status()));
  CHECK(absl::IsOutOfRange(range("", "@1").status()));
  CHECK(absl::IsInvalidArgument(range("1s", "1s").status()));
  CHECK(absl::IsInvalidArgument(range("1s", "0.5s").status()));
  CHECK(absl::IsInvalidArgument(range("x", "").status()));
}

TEST_CASE("time range: a window is moved into the trace", "[cli][instant]") {
  const auto range = [](const std::string& at, std::uint64_t window_ns) {
    return ParseRange({.from = "", .to = "", .at = at, .window_ns = window_ns},
                      kTrace);
  };
  const std::uint64_t begin = kTrace.begin_ns;
  CHECK(range("1s", 10'000'000)->from_ns == begin + 995'000'000);
  CHECK(range("1s", 10'000'000)->to_ns == begin + 1'005'000'000);
  CHECK(range("begin", 1000)->from_ns == begin);
  CHECK(range("begin", 1000)->to_ns == begin + 1000);
  // With the last record.
  CHECK(range("end", 1000)->from_ns == begin + kTrace.duration_ns - 1000);
  CHECK(range("end", 1000)->to_ns == ~std::uint64_t{0});
  CHECK(range("1s", ~std::uint64_t{0})->from_ns == begin);
  CHECK(absl::IsOutOfRange(range("3s", 1000).status()));
  CHECK(absl::IsInvalidArgument(range("x", 1000).status()));
}

}  // namespace countrace::cli
