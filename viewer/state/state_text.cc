// `countrace state` as text: CPUs, threads with their open segments, the
// counts, and the nearest boundaries in time.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_format.h"
#include "base/text/text_table.h"
#include "logformat/packet_layout.h"
#include "viewer/state/state_page.h"

namespace countrace::viewer {
namespace {

using base::EscapeName;
using base::TextTable;

std::string Duration(std::uint64_t duration_ns) {
  return base::FormatNanoseconds(static_cast<double>(duration_ns));
}

std::string Seconds(std::uint64_t time_ns) {
  return absl::StrFormat("%d.%09d", time_ns / 1'000'000'000,
                         time_ns % 1'000'000'000);
}

// "~" before inexact values, as in reports.
std::string Sure(bool exact, const std::string& text) {
  return exact ? text : "~" + text;
}

class PageText {
 public:
  PageText(const TimelineIndex& index, const StatePage& page,
           const StateTextOptions& options)
      : index_(index), page_(page), state_(page.state), options_(options) {}

  std::string Write() {
    Head();
    Cpus();
    Threads();
    Events();
    Near();
    Losses();
    return std::move(out_);
  }

 private:
  void Title(const char* title) {
    out_ += '\n';
    out_ += options_.color ? absl::StrFormat("\x1b[1m%s\x1b[0m", title)
                           : std::string(title);
    out_ += '\n';
  }

  void Head() {
    const std::uint64_t whole_ns =
        std::max<std::uint64_t>(index_.duration_ns(), 1);
    out_ +=
        absl::StrFormat("%s at +%s s of %s s (%.2f %%), CLOCK_MONOTONIC %s\n",
                        base::EscapeName(options_.path),
                        Seconds(state_.time_ns), Seconds(index_.duration_ns()),
                        100.0 * static_cast<double>(state_.time_ns) /
                            static_cast<double>(whole_ns),
                        Seconds(index_.header().begin_ns + state_.time_ns));
    if (page_.step) {
      out_ +=
          "step: " + base::EscapeName(DescribeStep(index_, *page_.step)) + "\n";
    }
  }

  std::string Since(std::uint64_t begin_ns) const {
    return Duration(state_.time_ns - std::min(state_.time_ns, begin_ns));
  }
  std::string Inside(const OpenSegment& call) const {
    std::string text = absl::StrFormat(
        "%s%s  %s",
        std::string(2 * std::size_t{std::min(call.depth, 20u)}, ' '),
        base::EscapeName(HookName(index_, call.hook_id)),
        Sure((call.flags & (kLeafBeginInferred | kLeafDisplaced)) == 0,
             Since(call.begin_ns)));
    if (call.on_cpu_ns) text += ", on CPU " + Duration(*call.on_cpu_ns);
    return text;
  }

  void Cpus() {
    if (state_.cpus.empty()) return;
    Title("CPUS");
    base::TextTable table;
    table.AddColumn("cpu", base::TextTable::Align::kRight);
    table.AddColumn("runs", base::TextTable::Align::kLeft);
    table.AddColumn("tid", base::TextTable::Align::kRight);
    table.AddColumn("since", base::TextTable::Align::kRight);
    table.AddColumn("leaves in", base::TextTable::Align::kRight);
    table.AddColumn("interrupts so far", base::TextTable::Align::kRight, true);
    for (const CpuState& cpu : state_.cpus) {
      std::string runs = "(not known)", tid;
      if (cpu.known) {
        runs = (cpu.flags & kLeafIdle) != 0      ? "idle"
               : (cpu.flags & kLeafOutside) != 0 ? "outside the recording"
                                                 : Name(cpu.thread);
        if (cpu.thread < index_.threads().size()) {
          tid = std::to_string(index_.threads()[cpu.thread].tid);
        }
      }
      if (cpu.in_interrupt) runs += ", in an interrupt";
      table.AddRow({std::to_string(cpu.cpu), runs, tid,
                    cpu.known ? Sure((cpu.flags & kLeafBeginInferred) == 0,
                                     Since(cpu.begin_ns))
                              : "",
                    cpu.known ? Sure((cpu.flags & kLeafEndInferred) == 0,
                                     Duration(cpu.end_ns - state_.time_ns))
                              : "",
                    cpu.interrupts_ns == 0 ? "" : Duration(cpu.interrupts_ns)});
      for (const OpenSegment& handler : cpu.interrupts) {
        table.AddHeading("     " + Inside(handler));
      }
    }
    out_ += table.Render(options_.width, options_.color);
  }

  std::string Name(std::uint32_t thread) const {
    if (thread >= index_.threads().size()) return "?";
    const std::string_view comm = index_.Text(index_.threads()[thread].comm);
    return comm.empty() ? "(no name)" : base::EscapeName(comm);
  }

  static std::string State(const ThreadState& thread) {
    switch (thread.state) {
      case RunState::kRunning:
        return absl::StrFormat("running on CPU %d", thread.cpu.value_or(0));
      case RunState::kWaiting:
        return "waiting for a CPU";
      case RunState::kThrottled:
        return "throttled by a CPU quota";
      case RunState::kBlocked:
        if ((thread.end_state & logformat::kSwitchUninterruptible) != 0) {
          return "blocked, uninterruptible";
        }
        if ((thread.end_state &
             (logformat::kSwitchStopped | logformat::kSwitchTraced)) != 0) {
          return "stopped";
        }
        return "blocked";
      case RunState::kOffCpu:
        return "off CPU";
      case RunState::kEnded:
        return "ended";
      case RunState::kUnknown:
        return "not known";
    }
    return "not known";
  }

  void Threads() {
    Title("THREADS");
    base::TextTable table;
    table.AddColumn("tid", base::TextTable::Align::kRight);
    table.AddColumn("name", base::TextTable::Align::kLeft);
    table.AddColumn("state", base::TextTable::Align::kLeft);
    table.AddColumn("for", base::TextTable::Align::kRight);
    table.AddColumn("on CPU", base::TextTable::Align::kRight);
    table.AddColumn("waited", base::TextTable::Align::kRight, true);
    table.AddColumn("dispatches", base::TextTable::Align::kRight, true);
    for (const ThreadState& thread : state_.threads) {
      const std::int32_t tid = thread.thread < index_.threads().size()
                                   ? index_.threads()[thread.thread].tid
                                   : 0;
      const bool sure = !thread.bounded;
      table.AddRow(
          {std::to_string(tid), Name(thread.thread), State(thread),
           thread.since_ns
               ? Sure(!thread.since_inferred, Since(*thread.since_ns))
               : "",
           thread.on_cpu_ns ? Sure(sure, Duration(*thread.on_cpu_ns)) : "",
           thread.wait_ns && *thread.wait_ns != 0
               ? Sure(sure, Duration(*thread.wait_ns))
               : "",
           thread.on_cpu_ns ? Sure(sure, base::FormatCount(thread.dispatches))
                            : ""});
      for (const OpenSegment& call : thread.open) {
        table.AddHeading("        " + Inside(call));
      }
    }
    if (state_.threads.empty()) {
      out_ += "nothing runs, waits for a CPU or is inside a segment\n";
    } else {
      out_ += table.Render(options_.width, options_.color);
    }
    const std::uint64_t more =
        state_.threads_not_shown + state_.threads_left_out;
    if (more != 0) {
      out_ += absl::StrFormat(
          "and %s more threads, alive%s\n", base::FormatCount(more),
          state_.threads_left_out != 0 ? "" : ": --all shows them");
    }
  }

  void Events() {
    if (state_.events.empty()) return;
    Title("COUNTED SO FAR");
    const std::vector<std::string> names = EventNames(index_);
    const std::uint64_t window_ns =
        std::min(state_.time_ns, index_.duration_ns()) - state_.window_begin_ns;
    base::TextTable table;
    table.AddColumn("event", base::TextTable::Align::kLeft);
    table.AddColumn("total", base::TextTable::Align::kRight);
    table.AddColumn(absl::StrFormat("per s, last %s", Duration(window_ns)),
                    base::TextTable::Align::kRight);
    for (const std::uint32_t cpu : state_.counter_cpus) {
      if (state_.counter_cpus.size() < 2) break;
      table.AddColumn(absl::StrFormat("cpu %d", cpu),
                      base::TextTable::Align::kRight, true);
    }
    for (std::size_t i = 0; i < state_.events.size(); ++i) {
      const EventState& event = state_.events[i];
      const auto count = [](double value) {
        return base::FormatCount(static_cast<std::uint64_t>(value));
      };
      std::vector<std::string> row = {
          base::EscapeName(names[i]),
          (event.gap         ? ">="
           : event.estimated ? "~"
                             : "") +
              count(event.count),
          event.rate ? Sure(!event.rate_estimated, count(*event.rate + 0.5))
                     : "-"};
      if (state_.counter_cpus.size() >= 2) {
        for (const double value : event.by_cpu) row.push_back(count(value));
      }
      table.AddRow(std::move(row));
    }
    out_ += table.Render(options_.width, options_.color);
  }

  void Near() {
    if (page_.near.empty()) return;
    Title("BEFORE AND AFTER");
    base::TextTable table;
    table.AddColumn("", base::TextTable::Align::kLeft);
    table.AddColumn("before", base::TextTable::Align::kRight);
    table.AddColumn("what", base::TextTable::Align::kLeft, true);
    table.AddColumn("after", base::TextTable::Align::kRight);
    table.AddColumn("what then", base::TextTable::Align::kLeft, true);
    for (const NearSteps& near : page_.near) {
      table.AddRow(
          {near.kind,
           near.previous ? Duration(state_.time_ns - near.previous->time_ns)
                         : "",
           near.previous
               ? base::EscapeName(DescribeStep(index_, *near.previous))
               : "",
           near.next ? Duration(near.next->time_ns - state_.time_ns) : "",
           near.next ? base::EscapeName(DescribeStep(index_, *near.next))
                     : ""});
    }
    out_ += table.Render(options_.width, options_.color);
  }

  void Losses() {
    if (!state_.in_loss) return;
    out_ +=
        "\nRecords were lost at this instant; what is shown may be "
        "incomplete:\n";
    for (const std::uint32_t number : state_.losses) {
      const LossEntry& loss = index_.losses()[number];
      out_ += absl::StrFormat(
          "  %s, %s from +%s s to +%s s: %s\n",
          loss.count == 0 ? "an unknown number"
                          : base::FormatCount(loss.count) + " records",
          loss.cpu >= 0 ? absl::StrFormat("CPU %d", loss.cpu)
                        : Name(loss.thread),
          Seconds(loss.begin_ns), Seconds(loss.end_ns),
          base::EscapeName(index_.Text(loss.cause)));
    }
  }

  const TimelineIndex& index_;
  const StatePage& page_;
  const InstantState& state_;
  const StateTextOptions& options_;
  std::string out_;
};

}  // namespace

std::string StatePageText(const TimelineIndex& index, const StatePage& page,
                          const StateTextOptions& options) {
  return PageText(index, page, options).Write();
}

}  // namespace countrace::viewer
