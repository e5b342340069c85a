#include "viewer/replay/player.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_format.h"
#include "viewer/index/instant/nearest_step.h"
#include "viewer/replay/frame.h"
#include "viewer/state/state_page.h"

namespace countrace::viewer {
namespace {

constexpr int kIdleParts = 64;

struct Key {
  std::string_view input;
  ReplayCommand command;
};
// Arrows, Home and End as xterm and the Linux console send them.
constexpr Key kKeys[] = {
    {"j", ReplayCommand::kPlayBack},    {"k", ReplayCommand::kPause},
    {"l", ReplayCommand::kPlay},        {" ", ReplayCommand::kPlayPause},
    {".", ReplayCommand::kNext},        {",", ReplayCommand::kPrevious},
    {">", ReplayCommand::kNextHook},    {"<", ReplayCommand::kPreviousHook},
    {"\x1b[C", ReplayCommand::kNext},   {"\x1b[D", ReplayCommand::kPrevious},
    {"\x1bOC", ReplayCommand::kNext},   {"\x1bOD", ReplayCommand::kPrevious},
    {"+", ReplayCommand::kFaster},      {"=", ReplayCommand::kFaster},
    {"-", ReplayCommand::kSlower},      {"\x1b[A", ReplayCommand::kFaster},
    {"\x1b[B", ReplayCommand::kSlower}, {"\x1b[H", ReplayCommand::kBegin},
    {"\x1b[F", ReplayCommand::kEnd},    {"\x1bOH", ReplayCommand::kBegin},
    {"\x1bOF", ReplayCommand::kEnd},    {"\x1b[1~", ReplayCommand::kBegin},
    {"\x1b[4~", ReplayCommand::kEnd},   {"0", ReplayCommand::kBegin},
    {"$", ReplayCommand::kEnd},         {"o", ReplayCommand::kLoop},
    {"i", ReplayCommand::kSkipIdle},    {"q", ReplayCommand::kQuit},
    {"\x03", ReplayCommand::kQuit}};

}  // namespace

ReplayCommand CommandOf(std::string_view input, std::size_t& used) {
  std::string first(input.substr(0, 1));
  if (first[0] >= 'A' && first[0] <= 'Z') first[0] += 'a' - 'A';
  bool more = false;
  for (const Key& key : kKeys) {
    const bool found = key.input.size() == 1 ? key.input == first
                                             : input.starts_with(key.input);
    if (found) {
      used = key.input.size();
      return key.command;
    }
    more |= key.input.starts_with(input);
  }
  // Each byte of an unknown sequence is an unknown key.
  used = more ? 0 : 1;
  return ReplayCommand::kNone;
}

Player::Player(const TimelineIndex& index, const Playhead& playhead,
               std::string shown_as)
    : index_(index), playhead_(playhead), stage_(index, std::move(shown_as)) {}

void Player::Do(ReplayCommand command) {
  note_.clear();
  switch (command) {
    case ReplayCommand::kPlayBack:
      return playhead_.Play(false);
    case ReplayCommand::kPlay:
      return playhead_.Play(true);
    case ReplayCommand::kPause:
      return playhead_.Pause();
    case ReplayCommand::kPlayPause:
      return playhead_.playing() ? playhead_.Pause()
                                 : playhead_.Play(playhead_.forward());
    case ReplayCommand::kNext:
      return Step(true, kStepDispatch | kStepSegment | kStepHook, "boundary");
    case ReplayCommand::kPrevious:
      return Step(false, kStepDispatch | kStepSegment | kStepHook, "boundary");
    case ReplayCommand::kNextHook:
      return Step(true, kStepSegment | kStepHook, "hook");
    case ReplayCommand::kPreviousHook:
      return Step(false, kStepSegment | kStepHook, "hook");
    case ReplayCommand::kFaster:
      return playhead_.Faster();
    case ReplayCommand::kSlower:
      return playhead_.Slower();
    case ReplayCommand::kBegin:
      return playhead_.MoveTo(playhead_.from_ns());
    case ReplayCommand::kEnd:
      return playhead_.MoveTo(playhead_.to_ns());
    case ReplayCommand::kLoop:
      playhead_.set_loop(!playhead_.loop());
      note_ = playhead_.loop() ? "plays in a loop" : "plays once";
      return;
    case ReplayCommand::kSkipIdle:
      skip_idle_ = !skip_idle_;
      note_ = skip_idle_ ? "skips time in which all CPUs are idle"
                         : "plays idle time, too";
      return;
    case ReplayCommand::kNone:
    case ReplayCommand::kQuit:
      return;
  }
}

void Player::Step(bool forward, std::uint32_t kinds, const char* what) {
  playhead_.Pause();
  const auto step = NearestStep(index_, playhead_.time_ns(), forward, kinds);
  const bool inside = step && step->time_ns >= playhead_.from_ns() &&
                      step->time_ns <= playhead_.to_ns();
  if (!inside) {
    note_ =
        absl::StrFormat("no %s %s here", what, forward ? "after" : "before");
    return;
  }
  playhead_.MoveTo(step->time_ns);
  note_ = base::EscapeName(DescribeStep(index_, *step));
}

void Player::Advance(std::uint64_t elapsed_ns) {
  if (!playhead_.playing()) return;
  note_.clear();
  playhead_.Advance(elapsed_ns);
  if (skip_idle_ && playhead_.playing()) SkipIdle();
}

void Player::SkipIdle() {
  const std::uint64_t begin_ns = playhead_.time_ns();
  // Idle time of a CPU may be in parts; the rest is for the next frame.
  for (int part = 0; part < kIdleParts; ++part) {
    const std::uint64_t time_ns = playhead_.time_ns();
    if (!IsIdle(StateAt(index_, time_ns))) break;
    const auto step =
        NearestStep(index_, time_ns, playhead_.forward(), kStepDispatch);
    if (!step) {
      playhead_.MoveTo(playhead_.forward() ? playhead_.to_ns()
                                           : playhead_.from_ns());
      break;
    }
    // Backwards: before the instant at which the last CPU became idle.
    playhead_.MoveTo(playhead_.forward() || step->time_ns == 0
                         ? step->time_ns
                         : step->time_ns - 1);
    if (playhead_.at_end()) break;
  }
  const std::uint64_t end_ns = playhead_.time_ns();
  if (end_ns == begin_ns) return;
  note_ = absl::StrCat(
      "skipped ",
      base::FormatNanoseconds(static_cast<double>(std::max(begin_ns, end_ns) -
                                                  std::min(begin_ns, end_ns))),
      " in which all CPUs were idle");
}

std::vector<std::string> Player::Lines(StageSize size, bool color) {
  const Frame frame = FrameAt(index_, playhead_.time_ns(),
                              playhead_.per_second_ns(), stage_.threads());
  return stage_.Draw(frame, playhead_, note_, size, color);
}

}  // namespace countrace::viewer
