#include "viewer/replay/playhead.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "base/text/quantity_format.h"

namespace countrace::viewer {
namespace {

constexpr std::uint64_t kSecondNs = 1'000'000'000;
constexpr std::uint64_t kMostNs = 1000 * kSecondNs;
constexpr std::uint64_t kSecondsForAll = 20;

// The largest of 1, 2, 5, 10, ... that is at most `ns`.
std::uint64_t StepBelow(std::uint64_t ns) {
  std::uint64_t decade = 1;
  while (decade <= ns / 10) decade *= 10;
  for (const std::uint64_t step : {5, 2}) {
    if (step * decade <= ns) return step * decade;
  }
  return decade;
}

std::uint64_t StepAbove(std::uint64_t ns) {
  const std::uint64_t below = StepBelow(ns);
  std::uint64_t first = below;
  while (first >= 10) first /= 10;
  return first == 2 ? below / 2 * 5 : below * 2;
}

std::string TimesText(double times) {
  return times >= 10 ? absl::StrFormat("%.0f", times)
                     : absl::StrFormat("%.3g", times);
}

}  // namespace

Playhead::Playhead(std::uint64_t from_ns, std::uint64_t to_ns,
                   std::uint64_t per_second_ns)
    : from_ns_(from_ns),
      to_ns_(std::max(from_ns, to_ns)),
      time_ns_(from_ns),
      per_second_ns_(per_second_ns) {
  if (per_second_ns_ == 0) {
    per_second_ns_ = StepBelow(
        std::max<std::uint64_t>((to_ns_ - from_ns_) / kSecondsForAll, 1));
  }
  per_second_ns_ = std::min(per_second_ns_, kMostNs);
}

void Playhead::Play(bool forward) {
  if (playing_ && forward_ == forward) return Faster();
  forward_ = forward;
  if (at_end()) time_ns_ = forward ? from_ns_ : to_ns_;
  rest_ns_ = 0;
  playing_ = true;
}

void Playhead::Faster() {
  per_second_ns_ = std::min(StepAbove(per_second_ns_), kMostNs);
}

void Playhead::Slower() {
  const std::uint64_t step = StepBelow(per_second_ns_);
  per_second_ns_ =
      step < per_second_ns_
          ? step
          : std::max<std::uint64_t>(StepBelow(per_second_ns_ - 1), 1);
}

void Playhead::MoveTo(std::uint64_t time_ns) {
  time_ns_ = std::clamp(time_ns, from_ns_, to_ns_);
  rest_ns_ = 0;
}

void Playhead::Advance(std::uint64_t elapsed_ns) {
  if (!playing_) return;
  const double way = static_cast<double>(per_second_ns_) *
                         static_cast<double>(elapsed_ns) /
                         static_cast<double>(kSecondNs) +
                     rest_ns_;
  const double whole = std::floor(way);
  rest_ns_ = way - whole;
  const std::uint64_t left_ns =
      forward_ ? to_ns_ - time_ns_ : time_ns_ - from_ns_;
  if (whole < static_cast<double>(left_ns)) {
    const auto moved_ns = static_cast<std::uint64_t>(whole);
    time_ns_ = forward_ ? time_ns_ + moved_ns : time_ns_ - moved_ns;
    return;
  }
  // The end itself is shown, too, before it goes on.
  if (left_ns == 0 && loop_ && from_ns_ != to_ns_) {
    time_ns_ = forward_ ? from_ns_ : to_ns_;
    return;
  }
  time_ns_ = forward_ ? to_ns_ : from_ns_;
  rest_ns_ = 0;
  playing_ = loop_;
}

std::string SpeedText(std::uint64_t per_second_ns) {
  const std::string shown =
      "1 s shown = " +
      base::FormatNanoseconds(static_cast<double>(per_second_ns));
  const double times =
      static_cast<double>(kSecondNs) / static_cast<double>(per_second_ns);
  if (times > 1) return shown + " (" + TimesText(times) + " x slow)";
  if (times < 1) return shown + " (" + TimesText(1 / times) + " x fast)";
  return shown + " (real time)";
}

}  // namespace countrace::viewer
