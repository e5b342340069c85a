#include "viewer/replay/stage.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_format.h"
#include "viewer/replay/screen_line.h"
#include "viewer/replay/stage_layout.h"
#include "viewer/state/state_page.h"

namespace countrace::viewer {
namespace {

using base::EscapeName;

constexpr std::size_t kNameColumns = 16, kTidColumns = 8, kTimeColumns = 9;
constexpr char kKeys[] =
    "J K L back, pause, on  Space  , . step  < > hook  - + speed  0 $ ends  "
    "Q quit";

std::string Duration(std::uint64_t ns) {
  return base::FormatNanoseconds(static_cast<double>(ns));
}

std::string ShortState(const ThreadState& thread) {
  return thread.state == RunState::kRunning && thread.cpu
             ? absl::StrFormat("CPU %d", *thread.cpu)
             : RunStateName(thread.state);
}

}  // namespace

class Stage::Drawing {
 public:
  Drawing(Stage& stage, const Frame& frame, const Playhead& playhead,
          StageSize size, bool color)
      : stage_(stage),
        index_(stage.index_),
        frame_(frame),
        state_(frame.state),
        playhead_(playhead),
        size_(size),
        color_(color),
        layout_(LayoutOf(size, frame.state.cpus.size())) {
    for (const ThreadState& thread : state_.threads) {
      threads_[thread.thread] = &thread;
    }
  }

  std::vector<std::string> Draw(const std::string& note) {
    Title();
    Bar();
    Cpus();
    Threads();
    ProcessesAndCounters();
    while (lines_.size() + 1 < size_.lines)
      lines_.push_back(Line().Text(false));
    ScreenLine last = Line();
    last.Rest(note.empty() ? kKeys : note,
              note.empty() ? Style::kDim : Style::kPlain);
    Add(last);
    lines_.resize(size_.lines);
    return std::move(lines_);
  }

 private:
  ScreenLine Line() const { return ScreenLine(size_.columns); }
  void Add(ScreenLine& line) { lines_.push_back(line.Text(color_)); }
  void Heading(const std::string& text) {
    ScreenLine line = Line();
    line.Rest(text, Style::kBold);
    Add(line);
  }

  std::string NameOf(NameRef comm) const {
    const std::string_view name = index_.Text(comm);
    return name.empty() ? "(no name)" : EscapeName(name);
  }
  std::string ThreadName(std::uint32_t thread) const {
    return thread < index_.threads().size()
               ? NameOf(index_.threads()[thread].comm)
               : "?";
  }
  std::string Tid(std::uint32_t thread) const {
    return thread < index_.threads().size()
               ? std::to_string(index_.threads()[thread].tid)
               : "";
  }
  std::size_t HueOf(std::uint32_t thread) const {
    const std::uint32_t process =
        thread < index_.threads().size() ? index_.ProcessOf(thread) : kNoKey;
    return process == kNoKey ? 0 : process + 1;
  }
  // Began in the last quarter of a second shown.
  bool IsNew(std::uint64_t begin_ns) const {
    return playhead_.forward() &&
           state_.time_ns - std::min(state_.time_ns, begin_ns) <
               playhead_.per_second_ns() / 4;
  }
  std::string Since(std::uint64_t begin_ns) const {
    return Duration(state_.time_ns - std::min(state_.time_ns, begin_ns));
  }
  // "server:handle > syscall:read".
  std::string Stack(const std::vector<OpenSegment>& open) const {
    std::string text;
    for (const OpenSegment& call : open) {
      if (!text.empty()) text += " > ";
      text += EscapeName(HookName(index_, call.hook_id));
    }
    return text;
  }

  void Title() {
    ScreenLine line = Line();
    const std::string time =
        absl::StrFormat("+%s s of %s s", base::FormatSeconds(state_.time_ns),
                        base::FormatSeconds(index_.duration_ns()));
    const char* const way = !playhead_.playing()  ? "||"
                            : playhead_.forward() ? "> "
                                                  : "< ";
    const std::string speed =
        absl::StrFormat(" %s %s%s", way, SpeedText(playhead_.per_second_ns()),
                        state_.in_loss ? "  LOST" : "");
    const std::size_t fixed = time.size() + speed.size() + 1;
    if (line.left() > fixed) {
      line.Field(EscapeName(stage_.shown_as_), line.left() - fixed,
                 Style::kPlain, 0, /*keep_end=*/true);
    }
    line.Field(" " + time, time.size() + 1, Style::kBold);
    line.Rest(speed);
    Add(line);
  }

  // The column of the range's bar in which `time_ns` is.
  std::size_t ColumnOf(std::uint64_t time_ns) const {
    const std::uint64_t from_ns = playhead_.from_ns();
    const std::uint64_t all_ns =
        std::max<std::uint64_t>(playhead_.to_ns() - from_ns, 1);
    const std::uint64_t at_ns =
        std::clamp(time_ns, from_ns, playhead_.to_ns()) - from_ns;
    return static_cast<std::size_t>(static_cast<double>(at_ns) /
                                    static_cast<double>(all_ns) *
                                    static_cast<double>(size_.columns - 1));
  }

  void Bar() {
    std::string bar(size_.columns, '-');
    for (const LossEntry& loss : index_.losses()) {
      if (loss.end_ns < playhead_.from_ns() ||
          loss.begin_ns > playhead_.to_ns()) {
        continue;
      }
      const std::size_t first = ColumnOf(loss.begin_ns);
      bar.replace(first, ColumnOf(loss.end_ns) - first + 1,
                  ColumnOf(loss.end_ns) - first + 1, 'x');
    }
    const std::size_t at = ColumnOf(state_.time_ns);
    ScreenLine line = Line();
    line.Field(bar.substr(0, at), at, Style::kDim);
    line.Field("O", 1, Style::kReverse);
    line.Rest(bar.substr(at + 1), Style::kDim);
    Add(line);
  }

  void Cpu(const CpuState& cpu, std::size_t columns, ScreenLine& line) const {
    const std::size_t end = line.left() - std::min(columns, line.left());
    line.Number(std::to_string(cpu.cpu), 4, Style::kDim);
    line.Field("", 2);
    const bool runs = cpu.known && cpu.thread != kNoKey;
    const std::string who = !cpu.known ? "(not known)"
                            : runs     ? ThreadName(cpu.thread)
                            : (cpu.flags & kLeafIdle) != 0 ? "idle"
                                                           : "outside";
    line.Field(who, kNameColumns,
               !runs                 ? Style::kDim
               : IsNew(cpu.begin_ns) ? Style::kBold
                                     : Style::kPlain,
               runs ? HueOf(cpu.thread) : 0);
    std::string inside;
    if (cpu.in_interrupt) {
      inside = cpu.interrupts.empty() ? "(interrupt)" : Stack(cpu.interrupts);
    } else if (const auto thread = threads_.find(cpu.thread);
               runs && thread != threads_.end()) {
      inside = Stack(thread->second->open);
    }
    if (size_.columns == columns) {
      line.Number(runs ? Tid(cpu.thread) : "", kTidColumns);
      line.Number(cpu.known ? Since(cpu.begin_ns) : "", kTimeColumns);
    }
    line.Field("", 2);
    line.Field(inside, line.left() - std::min(end, line.left()),
               cpu.in_interrupt ? Style::kReverse : Style::kPlain, 0,
               /*keep_end=*/true);
  }

  void Cpus() {
    const std::size_t shown = layout_.cpu_lines * layout_.cpus_a_line;
    Heading(
        shown >= state_.cpus.size()
            ? " CPU"
            : absl::StrFormat(" CPU (%d of %d)", shown, state_.cpus.size()));
    const std::size_t columns = size_.columns / layout_.cpus_a_line;
    for (std::size_t first = 0; first < shown; first += layout_.cpus_a_line) {
      ScreenLine line = Line();
      for (std::size_t i = first; i < first + layout_.cpus_a_line; ++i) {
        if (i < state_.cpus.size()) Cpu(state_.cpus[i], columns, line);
      }
      Add(line);
    }
  }

  void Threads() {
    std::vector<std::uint32_t> ranked;
    for (const ThreadState& thread : state_.threads) {
      ranked.push_back(thread.thread);
    }
    stage_.threads_.Update(ranked, layout_.threads);
    Heading(" THREADS          tid  state        since  inside");
    for (const auto& place : stage_.threads_.places()) {
      ScreenLine line = Line();
      if (place) Thread(*place, line);
      Add(line);
    }
  }

  void Thread(std::uint32_t number, ScreenLine& line) const {
    const auto found = threads_.find(number);
    const ThreadState* const thread =
        found == threads_.end() ? nullptr : found->second;
    const bool runs = thread != nullptr && thread->state == RunState::kRunning;
    line.Field(" " + ThreadName(number), kNameColumns,
               runs ? Style::kPlain : Style::kDim, runs ? HueOf(number) : 0);
    line.Number(Tid(number), 6);
    line.Field("", 2);
    if (thread == nullptr) return line.Rest("", Style::kDim);
    line.Field(ShortState(*thread), kTimeColumns,
               thread->since_ns && IsNew(*thread->since_ns) ? Style::kBold
               : runs                                       ? Style::kPlain
                                                            : Style::kDim);
    line.Number(thread->since_ns ? (thread->since_inferred ? "~" : "") +
                                       Since(*thread->since_ns)
                                 : "",
                kTimeColumns);
    line.Field("", 2);
    line.Rest(Stack(thread->open),
              !thread->open.empty() && IsNew(thread->open.back().begin_ns)
                  ? Style::kBold
                  : Style::kPlain,
              0, /*keep_end=*/true);
  }

  void ProcessesAndCounters() {
    std::vector<std::uint32_t> ranked;
    std::map<std::uint32_t, std::uint64_t> recent;
    for (const RecentTime& time : frame_.processes) {
      ranked.push_back(time.number);
      recent[time.number] = time.on_cpu_ns;
    }
    stage_.processes_.Update(ranked, layout_.processes);
    const std::uint64_t window_ns =
        state_.time_ns - std::min(state_.time_ns, playhead_.per_second_ns());
    const std::uint64_t width_ns = state_.time_ns - window_ns;
    const std::size_t half = size_.columns / 2;
    ScreenLine heading = Line();
    heading.Field(
        absl::StrFormat(" PROCESSES in the last %s", Duration(width_ns)), half,
        Style::kBold);
    heading.Rest(absl::StrFormat(" %-17s    per s       total",
                                 frame_.hooks.empty() ? "COUNTERS" : "HOOKS"),
                 Style::kBold);
    Add(heading);
    for (std::size_t i = 0; i < layout_.processes; ++i) {
      ScreenLine line = Line();
      if (const auto place = stage_.processes_.places()[i]) {
        const auto time = recent.find(*place);
        Process(*place, time == recent.end() ? 0 : time->second, width_ns, half,
                line);
      } else {
        line.Field("", half);
      }
      if (i < state_.events.size()) Counter(i, line);
      if (i < frame_.hooks.size()) Hits(frame_.hooks[i], width_ns, line);
      Add(line);
    }
  }

  void Process(std::uint32_t number, std::uint64_t on_cpu_ns,
               std::uint64_t window_ns, std::size_t columns,
               ScreenLine& line) const {
    if (number >= index_.processes().size()) return line.Field("?", columns);
    const ProcessEntry& entry = index_.processes()[number];
    // One CPU is 100 %: it may be more.
    const double share = window_ns == 0 ? 0
                                        : static_cast<double>(on_cpu_ns) /
                                              static_cast<double>(window_ns);
    const std::size_t bar = columns - kNameColumns - kTidColumns - 8;
    const Style style = share > 0.2      ? Style::kBold
                        : on_cpu_ns == 0 ? Style::kDim
                                         : Style::kPlain;
    line.Field(" " + NameOf(entry.comm), kNameColumns, style, number + 1);
    line.Number(std::to_string(entry.pid), 7, Style::kDim);
    line.Number(absl::StrFormat("%.1f %%", 100 * share), 8, style);
    line.Field("", 1);
    line.Field(BarOf(share, bar - 1, '#'), bar, style, number + 1);
  }

  void Hits(const HookHits& hits, std::uint64_t window_ns,
            ScreenLine& line) const {
    line.Field(" " + EscapeName(HookName(index_, hits.hook_id)), 18,
               hits.recent != 0 ? Style::kBold : Style::kDim);
    line.Number(window_ns == 0 ? "-"
                               : base::FormatShortCount(
                                     static_cast<double>(hits.recent) * 1e9 /
                                     static_cast<double>(window_ns)),
                9);
    line.Number(base::FormatShortCount(static_cast<double>(hits.total)), 12);
  }

  void Counter(std::size_t event, ScreenLine& line) {
    const EventState& counted = state_.events[event];
    line.Field(" " + EscapeName(stage_.events_[event]), 18);
    line.Number(counted.rate ? (counted.rate_estimated ? "~" : "") +
                                   base::FormatShortCount(*counted.rate)
                             : "-",
                9);
    const bool gap = counted.gap || stage_.events_in_turns_.contains(event);
    line.Number((gap                 ? ">="
                 : counted.estimated ? "~"
                                     : "") +
                    base::FormatShortCount(counted.count),
                12);
    if (line.left() < 8 || !counted.rate) return;
    double& fastest = stage_.fastest_[event];
    fastest = std::max(fastest, *counted.rate);
    if (fastest <= 0) return;
    line.Field("", 1);
    const std::size_t bar = line.left();
    line.Field(BarOf(*counted.rate / fastest, bar - 1, '='), bar);
  }

  Stage& stage_;
  const TimelineIndex& index_;
  const Frame& frame_;
  const InstantState& state_;
  const Playhead& playhead_;
  StageSize size_;
  bool color_;
  StageLayout layout_;
  std::map<std::uint32_t, const ThreadState*> threads_;
  std::vector<std::string> lines_;
};

Stage::Stage(const TimelineIndex& index, std::string shown_as)
    : index_(index),
      shown_as_(std::move(shown_as)),
      events_(EventNames(index)),
      events_in_turns_(EventsInTurns(index)),
      fastest_(events_.size(), 0) {}

std::set<std::uint32_t> Stage::threads() const {
  std::set<std::uint32_t> threads;
  for (const auto& place : threads_.places()) {
    if (place) threads.insert(*place);
  }
  return threads;
}

std::vector<std::string> Stage::Draw(const Frame& frame,
                                     const Playhead& playhead,
                                     const std::string& note, StageSize size,
                                     bool color) {
  return Drawing(*this, frame, playhead, size, color).Draw(note);
}

}  // namespace countrace::viewer
