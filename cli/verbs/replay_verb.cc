#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "base/text/name_escape.h"
#include "cli/program/exit_status.h"
#include "cli/program/help_texts.h"
#include "cli/program/instant.h"
#include "cli/program/interruption.h"
#include "cli/program/named_output.h"
#include "cli/program/progress_bar.h"
#include "cli/program/raw_terminal.h"
#include "cli/program/terminal.h"
#include "cli/program/verb.h"
#include "cli/program/verb_parser.h"
#include "cli/trace/trace_input.h"
#include "viewer/index/open/open_or_build.h"
#include "viewer/replay/cast_file.h"
#include "viewer/replay/player.h"
#include "viewer/replay/screen_changes.h"

namespace countrace::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kFrameNs = 1'000'000'000 / 30;

// What is shown, as a file; nothing without a path.
class Cast {
 public:
  absl::Status Open(const std::string& path, viewer::StageSize size,
                    const std::string& title) {
    if (path.empty()) return absl::OkStatus();
    const absl::Status status = file_.Open(path);
    if (!status.ok()) return status;
    open_ = true;
    return Write(viewer::CastHeader(size, title));
  }
  absl::Status Add(std::uint64_t time_ns, std::string_view output) {
    if (!open_ || output.empty()) return absl::OkStatus();
    return Write(viewer::CastOutput(time_ns, output));
  }

 private:
  absl::Status Write(const std::string& text) { return file_.Write(text); }

  NamedOutput file_;
  bool open_ = false;
};

// "100x30".
std::optional<viewer::StageSize> ParseSize(std::string_view text) {
  viewer::StageSize size;
  const char* const end = text.data() + text.size();
  const auto columns = std::from_chars(text.data(), end, size.columns);
  if (columns.ec != std::errc() || columns.ptr == end || *columns.ptr != 'x') {
    return std::nullopt;
  }
  const auto lines = std::from_chars(columns.ptr + 1, end, size.lines);
  if (lines.ec != std::errc() || lines.ptr != end) return std::nullopt;
  if (size.columns < viewer::kLeastStage.columns ||
      size.lines < viewer::kLeastStage.lines || size.columns > 1000 ||
      size.lines > 1000) {
    return std::nullopt;
  }
  return size;
}

struct Instants {
  std::string from, to, at;
};

absl::StatusOr<viewer::Playhead> PlaceAt(const Instants& instants,
                                         const TraceExtent& extent,
                                         std::uint64_t speed_ns) {
  std::uint64_t from_ns = 0, to_ns = extent.duration_ns;
  if (!instants.from.empty() || !instants.to.empty()) {
    const auto range = ParseTimeRange(instants.from, instants.to, extent);
    if (!range.ok()) return range.status();
    from_ns = std::max(range->from_ns, extent.begin_ns) - extent.begin_ns;
    to_ns = std::min(range->to_ns, extent.end_ns()) - extent.begin_ns;
  }
  viewer::Playhead playhead(from_ns, to_ns, speed_ns);
  if (!instants.at.empty()) {
    const auto at_ns = ParseInstant(instants.at, extent);
    if (!at_ns.ok()) return at_ns.status();
    if (*at_ns < from_ns || *at_ns > to_ns) {
      return absl::InvalidArgumentError(
          absl::StrFormat("--at %s is outside --from and --to", instants.at));
    }
    playhead.MoveTo(*at_ns);
  }
  return playhead;
}

// All of the range once, one frame after the other.
absl::Status PlayIntoCast(viewer::Player& player, viewer::StageSize size,
                          bool color, Cast& cast) {
  InterruptionGuard guard;
  viewer::ScreenChanges changes;
  player.playhead().Play(true);
  for (std::uint64_t time_ns = 0;; time_ns += kFrameNs) {
    const absl::Status status =
        cast.Add(time_ns, changes.To(player.Lines(size, color)));
    if (!status.ok()) return status;
    if (!player.playhead().playing() || guard.interrupted()) {
      return absl::OkStatus();
    }
    player.Advance(kFrameNs);
  }
}

std::string TooSmall() {
  return absl::StrFormat(
      "\x1b[2J\x1b[1;1Hthe terminal has %d x %d places; a replay needs %d x %d",
      RawTerminal::Columns(), RawTerminal::Lines(), viewer::kLeastStage.columns,
      viewer::kLeastStage.lines);
}

// False: the user, or a signal, ends the replay.
bool DoKeys(std::string& keys, viewer::Player& player) {
  while (!keys.empty()) {
    std::size_t used = 0;
    const viewer::ReplayCommand command = viewer::CommandOf(keys, used);
    if (used == 0) break;  // the rest of a key is on its way
    keys.erase(0, used);
    if (command == viewer::ReplayCommand::kQuit) return false;
    player.Do(command);
  }
  return true;
}

absl::Status PlayInTerminal(viewer::Player& player, bool color, Cast& cast) {
  RawTerminal terminal;
  viewer::ScreenChanges changes;
  std::string keys;
  const Clock::time_point begin = Clock::now();
  Clock::time_point drawn = begin;
  while (true) {
    const viewer::StageSize size = {RawTerminal::Columns(),
                                    RawTerminal::Lines()};
    std::string output;
    if (size.columns < viewer::kLeastStage.columns ||
        size.lines < viewer::kLeastStage.lines) {
      output = TooSmall();
      changes.Forget();
    } else {
      output = changes.To(player.Lines(size, color));
    }
    const Clock::time_point now = Clock::now();
    const absl::Status status =
        cast.Add(static_cast<std::uint64_t>((now - begin).count()), output);
    if (!status.ok()) return status;
    if (!terminal.Write(output)) return absl::OkStatus();
    const auto late = static_cast<std::uint64_t>((now - drawn).count());
    const std::uint64_t wait_ns = !player.playhead().playing() ? 1'000'000'000
                                  : late < kFrameNs            ? kFrameNs - late
                                                               : 0;
    const std::size_t before = keys.size();
    if (!terminal.Read(wait_ns, keys)) return absl::OkStatus();
    // An Escape of its own is no key.
    if (keys.size() == before) keys.clear();
    if (!DoKeys(keys, player)) return absl::OkStatus();
    const Clock::time_point next = Clock::now();
    // A frame that is late makes the replay slower.
    player.Advance(std::min(static_cast<std::uint64_t>((next - drawn).count()),
                            2 * kFrameNs));
    drawn = next;
  }
}

int RunReplay(const Arguments& arguments) {
  VerbParser parser(kReplayVerb);
  TraceOptions options;
  TraceInput input(kReplayVerb.name, options);
  Instants instants;
  std::uint64_t speed_ns = 0;
  bool paused = false, loop = false, skip_idle = false;
  std::string cast_path, size_text, color;
  parser.AddReadTrace(options);
  parser.AddText("--from", instants.from);
  parser.AddText("--to", instants.to);
  parser.AddText("--at", instants.at);
  parser.AddDuration("--speed", speed_ns);
  parser.AddFlag("--paused", paused);
  parser.AddFlag("--loop", loop);
  parser.AddFlag("--skip-idle", skip_idle);
  parser.AddText("--record-cast", cast_path);
  parser.AddText("--size", size_text);
  parser.AddColor(color);
  parser.AddNoProgress(options.no_progress);
  if (const auto status = parser.Parse(arguments)) return *status;
  const bool interactive =
      IsTerminal(STDIN_FILENO) && IsTerminal(STDOUT_FILENO);
  if (!interactive && cast_path.empty()) {
    return parser.UsageError(
        "a replay needs a terminal: use --record-cast FILE for a film, "
        "`countrace state --at T` for one instant, or `countrace view`");
  }
  viewer::StageSize size = viewer::kLeastStage;
  if (!size_text.empty()) {
    const auto parsed = ParseSize(size_text);
    if (!parsed || interactive) {
      return parser.UsageError(absl::StrFormat(
          "--size %s: %s", size_text,
          parsed ? "a terminal has its own size"
                 : "write COLUMNSxLINES, from 80x24 to 1000x1000"));
    }
    size = *parsed;
  } else if (interactive) {
    size = {.columns = std::max(RawTerminal::Columns(), size.columns),
            .lines = std::max(RawTerminal::Lines(), size.lines)};
  }

  const auto reader = input.Open(options.trace);
  if (!reader.ok()) return ReportFailure(kReplayVerb.name, reader.status());
  ProgressBar progress("indexing " + options.trace, input.show_progress());
  const auto directory = input.Directory(options.trace);
  if (!directory.ok()) {
    return ReportFailure(kReplayVerb.name, directory.status());
  }
  const auto index = viewer::OpenOrBuildIndex(*directory, progress.Callback(),
                                              /*shown_as=*/options.trace);
  progress.Clear();
  if (!index.ok()) return ReportFailure(kReplayVerb.name, index.status());
  const auto playhead =
      PlaceAt(instants,
              ExtentOf((*reader)->info(), (*index)->header().begin_ns,
                       (*index)->duration_ns()),
              speed_ns);
  if (!playhead.ok()) {
    return parser.UsageError(std::string(playhead.status().message()));
  }

  Cast cast;
  absl::Status status = cast.Open(cast_path, size, options.trace);
  if (!status.ok()) return ReportFailure(kReplayVerb.name, status);
  viewer::Player player(**index, *playhead, options.trace);
  player.playhead().set_loop(loop && interactive);
  player.set_skip_idle(skip_idle);
  // A film is for a terminal, too.
  const bool use_color = interactive ? UseColor(color) : color != "never";
  if (!interactive) {
    status = PlayIntoCast(player, size, use_color, cast);
  } else {
    if (!paused && instants.at.empty()) player.playhead().Play(true);
    status = PlayInTerminal(player, use_color, cast);
  }
  if (status.ok()) status = (*index)->CheckWhole();
  return status.ok() ? kExitOk : ReportFailure(kReplayVerb.name, status);
}

}  // namespace

const Verb kReplayVerb = {"replay", kReplayHelp, RunReplay};

}  // namespace countrace::cli
