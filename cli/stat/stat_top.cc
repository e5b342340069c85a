#include "cli/stat/stat_top.h"

#include <unistd.h>
#include <csignal>

#include <atomic>
#include <chrono>
#include <ctime>
#include <future>
#include <optional>
#include <string>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "base/posix/temporary_directory.h"
#include "cli/program/exit_status.h"
#include "cli/program/raw_terminal.h"
#include "cli/program/runtime_library.h"
#include "cli/program/terminal.h"
#include "cli/program/verb.h"
#include "cli/record/record_exit.h"
#include "cli/trace/recording_copies.h"
#include "logformat/read/trace_reader.h"
#include "rmap/pipeline.h"
#include "rmap/stat/top_screen.h"
#include "runtime/recorder/record.h"
#include "viewer/replay/screen_changes.h"

namespace countrace::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::uint64_t kDefaultEveryNs = 1'000'000'000;
constexpr std::size_t kLeastColumns = 60, kLeastLines = 12;

std::string ClockNow() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  return absl::StrFormat("%02d:%02d:%02d", local.tm_hour, local.tm_min,
                         local.tm_sec);
}

// The intervals of a flight recording: each begins where the one before it
// ended.
class Intervals {
 public:
  explicit Intervals(const std::string& folder)
      : copies_(folder + "/trace", folder, 1) {}

  // The tables from the latest call, or from `at_most_ns` ago, until now.
  absl::StatusOr<rmap::Report> Next(std::uint64_t at_most_ns) {
    const auto copy = copies_.Next();
    if (!copy.ok()) return copy.status();
    const auto reader = logformat::TraceReader::Open(copy->path);
    if (!reader.ok()) return reader.status();
    rmap::PipelineOptions options;
    options.range.from_ns = std::max(
        ended_ns_, copy->dumped_ns - std::min(copy->dumped_ns, at_most_ns));
    ended_ns_ = copy->dumped_ns;
    return rmap::Reconstruct(**reader, options);
  }

 private:
  RecordingCopies copies_;
  std::uint64_t ended_ns_ = 0;
};

// False: the user, or a signal, ends it.
bool Draw(RawTerminal& terminal, viewer::ScreenChanges& changes,
          const rmap::TopScreen& screen, bool color) {
  const std::size_t columns = RawTerminal::Columns();
  const std::size_t lines = RawTerminal::Lines();
  if (columns >= kLeastColumns && lines >= kLeastLines) {
    return terminal.Write(changes.To(screen.Lines(columns, lines, color)));
  }
  changes.Forget();
  return terminal.Write(absl::StrFormat(
      "\x1b[2J\x1b[1;1Hthe terminal has %d x %d places; --top needs %d x %d",
      columns, lines, kLeastColumns, kLeastLines));
}

// Until q, a signal, or the end of the recording.
void ShowIntervals(const std::string& folder, std::uint64_t every_ns,
                   rmap::TopScreen& screen, const std::atomic<bool>& ended) {
  RawTerminal terminal;
  viewer::ScreenChanges changes;
  Intervals intervals(folder);
  const bool color = UseColor("auto");
  const auto every = std::chrono::nanoseconds(every_ns);
  Clock::time_point next = Clock::now() + every;
  screen.Say("the first interval is on its way");
  while (!ended) {
    if (!Draw(terminal, changes, screen, color)) return;
    const auto left = next - Clock::now();
    std::string keys;
    // It also notices within this time that the recording has ended.
    const auto wait = std::clamp<Clock::duration>(
        left, Clock::duration::zero(), std::chrono::milliseconds(100));
    if (!terminal.Read(static_cast<std::uint64_t>(wait.count()), keys)) return;
    for (const char key : keys) {
      if (!screen.Key(key)) return;
    }
    if (Clock::now() < next) continue;
    next = std::max(next + every, Clock::now() + every / 2);
    if (screen.paused()) continue;
    auto report = intervals.Next(2 * every_ns);
    if (report.ok()) {
      screen.Show(*std::move(report), ClockNow());
    } else if (!ended) {
      screen.Say(base::StatusText(report.status()));
    }
  }
}

}  // namespace

int StatTop(const VerbParser& parser, const StatCommandLine& line,
            runtime::RecordOptions record) {
  if (!IsTerminal(STDIN_FILENO) || !IsTerminal(STDOUT_FILENO)) {
    return parser.UsageError(
        "--top needs a terminal: --every 1s prints a line each second");
  }
  auto library = FindRuntimeLibrary();
  if (!library.ok()) return ReportFailure(kStatVerb.name, library.status());
  record.runtime_library = *std::move(library);
  auto folder = base::TemporaryDirectory::Create("stat");
  if (!folder.ok()) return ReportFailure(kStatVerb.name, folder.status());
  record.output = (*folder)->path() + "/trace";

  // For a signal of ours that comes when the recorder has just ended.
  std::signal(SIGTERM, SIG_IGN);
  std::promise<void> begun;
  std::atomic<bool> ended = false;
  record.begun = [&begun] { begun.set_value(); };
  auto recording = std::async(std::launch::async, [&] {
    auto result = runtime::Record(record);
    ended = true;
    return result;
  });
  auto has_begun = begun.get_future();
  while (!ended && has_begun.wait_for(std::chrono::milliseconds(20)) !=
                       std::future_status::ready) {
  }
  rmap::TopScreen screen(CountedBy(line), static_cast<std::int32_t>(getpid()));
  if (!ended) {
    ShowIntervals((*folder)->path(),
                  line.every_ns == 0 ? kDefaultEveryNs : line.every_ns, screen,
                  ended);
    // The recorder's handler is in force again.
    if (!ended) ::kill(getpid(), SIGTERM);
  }
  const auto result = recording.get();
  if (!result.ok()) return RecordFailure(kStatVerb.name, result.status());
  return kExitOk;
}

}  // namespace countrace::cli
