// The clocks of hosts from their messages: the truth is always inside, nothing
// is received before it was sent, and the interval is as narrow as the messages
// allow.
#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "rmap/hosts/host_clock.h"
#include "rmap/hosts/message_clock.h"
#include "rmap/hosts/sampled_clock.h"
#include "tests/support/property_runs.h"

namespace countrace::rmap {
namespace {

using test_support::PropertyRuns;

constexpr std::uint64_t kSecond = 1'000'000'000;

// A clock that shows `begin` + offset + drift * since when the common one shows
// begin + since.
struct TrueClock {
  std::uint64_t begin_ns = 0;
  std::int64_t offset_ns = 0;
  double drift = 0;

  std::uint64_t Own(std::uint64_t common_ns) const {
    const auto since = static_cast<double>(common_ns - begin_ns);
    return common_ns +
           static_cast<std::uint64_t>(offset_ns + std::llround(drift * since));
  }
};

struct Exchange {
  std::vector<ClockLimit> limits;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> times;  // own, common
};

// Messages both ways, with random delays, within `seconds`.
Exchange Messages(const TrueClock& clock, int messages, int seconds,
                  std::mt19937_64& random) {
  Exchange all;
  std::uniform_int_distribution<std::uint64_t> when(0, seconds * kSecond);
  std::exponential_distribution<double> delay(1.0 / 50e3);
  for (int i = 0; i < messages; ++i) {
    const std::uint64_t sent = clock.begin_ns + when(random);
    const std::uint64_t received =
        sent + 1000 + static_cast<std::uint64_t>(delay(random));
    const bool to_here = i % 2 == 0;
    const std::uint64_t own = clock.Own(to_here ? received : sent);
    const std::uint64_t common = to_here ? sent : received;
    all.limits.push_back({own, to_here, common, common, common});
    all.times.emplace_back(own, to_here ? received : sent);
  }
  return all;
}

TrueClock RandomClock(std::mt19937_64& random) {
  std::uniform_int_distribution<std::int64_t> offset(-5'000'000'000'000,
                                                     5'000'000'000'000);
  std::uniform_real_distribution<double> drift(-4e-4, 4e-4);
  return {.begin_ns = 90'000 * kSecond,
          .offset_ns = offset(random),
          .drift = drift(random)};
}

TEST_CASE("host clock: the truth is inside, no receive is before its send",
          "[rmap][property]") {
  for (std::uint32_t seed = 0; seed < PropertyRuns(400u); ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const TrueClock truth = RandomClock(random);
    const int messages = 2 + static_cast<int>(seed % 7) * 60;
    const Exchange exchange =
        Messages(truth, messages, 1 + static_cast<int>(seed % 600), random);
    const auto clock = ClockOfMessages("messages", exchange.limits);
    REQUIRE(clock.ok());
    for (const auto& [own, common] : exchange.times) {
      REQUIRE(clock->LeastCommon(own) <= common + 1);
      REQUIRE(clock->MostCommon(own) + 1 >= common);
      const std::uint64_t shown = clock->Common(own);
      const std::uint64_t error =
          shown > common ? shown - common : common - shown;
      REQUIRE(error <= clock->WithinNs(own) + 1);
      // The inverse.
      const std::uint64_t again = clock->Common(clock->Own(shown));
      REQUIRE((again > shown ? again - shown : shown - again) <= 1);
    }
    for (const ClockLimit& limit : exchange.limits) {
      const std::uint64_t shown = clock->Common(limit.own_ns);
      if (limit.is_after) REQUIRE(shown >= limit.common_ns);
      if (!limit.is_after) REQUIRE(shown <= limit.common_ns);
    }
  }
}

TEST_CASE("host clock: the interval is what every pair of limits allows",
          "[rmap][property]") {
  for (std::uint32_t seed = 0; seed < PropertyRuns(200u); ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    const TrueClock truth = RandomClock(random);
    const Exchange exchange =
        Messages(truth, 4 + static_cast<int>(seed % 20), 20, random);
    const auto clock = ClockOfMessages("messages", exchange.limits);
    REQUIRE(clock.ok());
    // Every line through two limits, or through one with the largest drift,
    // that breaks none: the corners, by trying all.
    const std::uint64_t base = exchange.limits[0].own_ns;
    const auto x = [&](const ClockLimit& limit) {
      return static_cast<double>(
          static_cast<std::int64_t>(limit.own_ns - base));
    };
    const std::int64_t offset =
        static_cast<std::int64_t>(exchange.limits[0].common_ns - base);
    const auto y = [&](const ClockLimit& limit) {
      return static_cast<double>(
          static_cast<std::int64_t>(limit.common_ns - limit.own_ns) - offset);
    };
    const std::uint64_t at = exchange.limits[seed % 4].own_ns + kSecond;
    const auto at_x = static_cast<double>(static_cast<std::int64_t>(at - base));
    double least = HUGE_VAL, most = -HUGE_VAL;
    const auto try_line = [&](double start, double drift) {
      if (std::abs(drift) > kMostDrift * (1 + 1e-9)) return;
      for (const ClockLimit& limit : exchange.limits) {
        const double over = start + drift * x(limit) - y(limit);
        if (limit.is_after ? over < -0.1 : over > 0.1) return;
      }
      least = std::min(least, start + drift * at_x);
      most = std::max(most, start + drift * at_x);
    };
    for (const ClockLimit& a : exchange.limits) {
      for (const double drift : {-kMostDrift, kMostDrift}) {
        try_line(y(a) - drift * x(a), drift);
      }
      for (const ClockLimit& b : exchange.limits) {
        if (a.own_ns == b.own_ns) continue;
        const double drift = (y(b) - y(a)) / (x(b) - x(a));
        try_line(y(a) - drift * x(a), drift);
      }
    }
    const auto shown = [&](std::uint64_t common) {
      return static_cast<double>(static_cast<std::int64_t>(common - at) -
                                 offset);
    };
    REQUIRE(shown(clock->LeastCommon(at)) == Approx(least).margin(3));
    REQUIRE(shown(clock->MostCommon(at)) == Approx(most).margin(3));
  }
}

TEST_CASE("host clock: through a third host, limits and all", "[rmap]") {
  std::mt19937_64 random(7);
  const TrueClock first = RandomClock(random);
  const Exchange near = Messages(first, 200, 60, random);
  const auto middle = ClockOfMessages("messages", near.limits);
  REQUIRE(middle.ok());
  // A third clock has messages with the second alone, whose common
  // time is within limits.
  TrueClock third = first;
  third.offset_ns += 123'456'789;
  third.drift = -2e-4;
  std::vector<ClockLimit> limits;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> times;
  for (const Exchange exchange = Messages(third, 200, 60, random);
       const ClockLimit& limit : exchange.limits) {
    const std::uint64_t there = first.Own(limit.common_ns);
    limits.push_back({limit.own_ns, limit.is_after, middle->Common(there),
                      middle->LeastCommon(there), middle->MostCommon(there)});
    times = exchange.times;
  }
  const auto clock = ClockOfMessages("messages", limits);
  REQUIRE(clock.ok());
  for (const auto& [own, common] : times) {
    CHECK(clock->LeastCommon(own) <= common + 1);
    CHECK(clock->MostCommon(own) + 1 >= common);
  }
  for (const ClockLimit& limit : limits) {
    const std::uint64_t shown = clock->Common(limit.own_ns);
    CHECK(
        (limit.is_after ? shown >= limit.common_ns : shown <= limit.common_ns));
  }
}

logformat::ClockSample SampleAt(std::uint64_t monotonic_ns,
                                std::int64_t to_utc_ns,
                                std::uint64_t max_error_us) {
  logformat::ClockSample sample{};
  sample.monotonic_ns = monotonic_ns;
  sample.realtime_ns = monotonic_ns + static_cast<std::uint64_t>(to_utc_ns);
  sample.max_error_us = max_error_us;
  sample.state = 0;  // TIME_OK
  return sample;
}

TEST_CASE("host clock: by UTC, whatever the clocks' errors are",
          "[rmap][property]") {
  for (std::uint32_t seed = 0; seed < PropertyRuns(200u); ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    std::uniform_int_distribution<std::int64_t> utc(0, 2'000'000'000);
    std::uniform_int_distribution<std::int64_t> error(-900'000, 900'000);
    struct Host {
      std::int64_t to_utc;
      std::optional<UtcOffset> known;
    } hosts[2];
    for (Host& host : hosts) {
      host.to_utc = utc(random) * 1'000'000;
      logformat::ClockSamples samples;
      for (std::uint64_t at = 0; at < 60; at += 10) {  // s
        // What REALTIME shows is wrong by less than it says.
        const std::int64_t wrong = error(random);
        samples.samples.push_back(
            SampleAt(at * kSecond, host.to_utc + wrong,
                     static_cast<std::uint64_t>(std::abs(wrong)) / 1000 + 1));
      }
      host.known = UtcOffsetOf(samples, 61 * kSecond);
      REQUIRE(host.known.has_value());
    }
    const HostClock clock = ClockByUtc(*hosts[0].known, *hosts[1].known);
    for (std::uint64_t own = 0; own < 61 * kSecond; own += 7 * kSecond) {
      const std::uint64_t base = own + 3'000'000 * kSecond;
      const std::uint64_t truth =
          base + static_cast<std::uint64_t>(hosts[1].to_utc - hosts[0].to_utc);
      REQUIRE(clock.LeastCommon(base) <= truth);
      REQUIRE(clock.MostCommon(base) >= truth);
    }
  }
}

TEST_CASE("host clock: a clock that follows none is not compared", "[rmap]") {
  logformat::ClockSamples samples;
  CHECK_FALSE(UtcOffsetOf(samples, 0).has_value());
  samples.samples.push_back(SampleAt(kSecond, 5, 10));
  CHECK(UtcOffsetOf(samples, kSecond).has_value());
  samples.samples.push_back(SampleAt(2 * kSecond, 5, 10));
  samples.samples.back().status = 0x40;  // STA_UNSYNC, linux/timex.h
  CHECK_FALSE(UtcOffsetOf(samples, kSecond).has_value());
}

TEST_CASE("host clock: samples of which some are lost say nothing", "[rmap]") {
  logformat::ClockSamples samples;
  samples.samples.push_back(SampleAt(kSecond, 5, 10));
  samples.damage.emplace_back("clock, offset 0: cut");
  CHECK_FALSE(UtcOffsetOf(samples, kSecond).has_value());
}

// A line fits all messages and is not what the clock did.
TEST_CASE("host clock: the truth is inside though the speed changed",
          "[rmap][property]") {
  int fits = 0, outside_a_line = 0;
  for (std::uint32_t seed = 0; seed < PropertyRuns(200u); ++seed) {
    CAPTURE(seed);
    std::mt19937_64 random(seed);
    TrueClock before = RandomClock(random), after = before;
    const std::uint64_t change = before.begin_ns + 10 * kSecond;
    const std::int64_t ppm = 1 + seed % 20;
    after.drift += static_cast<double>(ppm) / 1e6;
    after.begin_ns = change;
    after.offset_ns += std::llround(before.drift * 10e9);
    Exchange all = Messages(before, 40, 10, random);
    const Exchange later = Messages(after, 40, 10, random);
    all.limits.insert(all.limits.end(), later.limits.begin(),
                      later.limits.end());
    all.times.insert(all.times.end(), later.times.begin(), later.times.end());

    logformat::ClockSamples samples;
    const std::uint64_t begin = before.Own(before.begin_ns);
    const std::uint64_t end = after.Own(change + 11 * kSecond);
    for (const std::int64_t correction : {std::int64_t{7}, 7 + ppm}) {
      samples.samples.push_back(SampleAt(begin, 5, 10));
      samples.samples.back().frequency = correction * 65536;
    }
    const auto line = ClockOfMessages("messages", all.limits);
    const auto clock =
        ClockOfMessages("messages", all.limits, UnevenNs(samples, begin, end));
    REQUIRE(line.ok() == clock.ok());
    if (!clock.ok()) continue;
    ++fits;
    bool is_outside = false;
    for (const auto& [own, common] : all.times) {
      REQUIRE(clock->LeastCommon(own) <= common + 1);
      REQUIRE(clock->MostCommon(own) + 1 >= common);
      is_outside |= line->LeastCommon(own) > common + 1 ||
                    line->MostCommon(own) + 1 < common;
    }
    outside_a_line += is_outside ? 1 : 0;
  }
  CHECK(fits > PropertyRuns(200) / 10);
  CHECK(outside_a_line > 0);
}

TEST_CASE("host clock: what is known of its speed", "[rmap]") {
  logformat::ClockSamples samples;
  CHECK(UnevenNs(samples, 0, kSecond) == 0);
  samples.samples.push_back(SampleAt(0, 5, 10));
  samples.samples.push_back(SampleAt(kSecond, 5, 10));
  CHECK(UnevenNs(samples, 0, kSecond) == 0);
  samples.samples[1].offset_ns = -300;
  CHECK(UnevenNs(samples, 0, kSecond) == 300);
  samples.samples[0].frequency = -2 * 65536;  // 2 ppm: 1 ppm for 0.5 s
  CHECK(UnevenNs(samples, 0, kSecond) == Approx(300 + 500));
  samples.samples[0].state = -1;  // adjtimex failed
  CHECK(UnevenNs(samples, 0, kSecond) == 300);
}

TEST_CASE("host clock: what messages cannot say is refused", "[rmap]") {
  const std::vector<ClockLimit> one_way = {{100, true, 90, 90, 90},
                                           {200, true, 180, 180, 180}};
  const auto half = ClockOfMessages("messages", one_way);
  REQUIRE(absl::IsFailedPrecondition(half.status()));
  CHECK(half.status().message().find("one way only") != std::string::npos);
  // After 500 and before 400 at the same instant.
  const std::vector<ClockLimit> wrong = {{100, true, 500, 500, 500},
                                         {100, false, 400, 400, 400}};
  const auto none = ClockOfMessages("messages", wrong);
  REQUIRE(absl::IsFailedPrecondition(none.status()));
  CHECK(none.status().message().find("no clock of even speed") !=
        std::string::npos);
}

}  // namespace
}  // namespace countrace::rmap
