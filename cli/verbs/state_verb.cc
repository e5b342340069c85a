#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/posix/output_width.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_format.h"
#include "cli/hosts/host_traces.h"
#include "cli/program/exit_status.h"
#include "cli/program/help_texts.h"
#include "cli/program/instant.h"
#include "cli/program/progress_bar.h"
#include "cli/program/terminal.h"
#include "cli/program/verb.h"
#include "cli/program/verb_parser.h"
#include "cli/trace/trace_input.h"
#include "logformat/description/recorded_part.h"
#include "viewer/index/open/open_or_build.h"
#include "viewer/state/state_page.h"

namespace countrace::cli {
namespace {

const std::vector<std::string> kKinds = {"dispatch", "segment", "hook",
                                         "interrupt", "loss"};

struct Stepping {
  bool forward = true;
  std::string kind;
  std::uint64_t steps = 1;
};

// The pages to print: one instant, or each step from it.
std::vector<viewer::StatePage> CollectPages(const viewer::TimelineIndex& index,
                                            std::uint64_t time_ns,
                                            const viewer::StateOptions& options,
                                            const Stepping& stepping,
                                            const viewer::StepFilter& filter,
                                            bool every_step) {
  std::vector<viewer::StatePage> pages;
  if (stepping.kind.empty()) {
    pages.push_back(CollectPage(index, time_ns, options, std::nullopt));
    return pages;
  }
  const std::uint32_t kind =
      viewer::StepKindNamed(stepping.kind).value_or(viewer::kStepDispatch);
  std::optional<viewer::Step> last;
  for (std::uint64_t taken = 0; taken < stepping.steps; ++taken) {
    const auto step =
        viewer::NearestStep(index, time_ns, stepping.forward, kind, filter);
    if (!step) break;
    last = step;
    time_ns = step->time_ns;
    if (every_step) {
      pages.push_back(CollectPage(index, time_ns, options, step));
    }
  }
  if (!every_step && last) {
    pages.push_back(CollectPage(index, time_ns, options, last));
  }
  return pages;
}

std::string Render(const viewer::TimelineIndex& index,
                   const std::vector<viewer::StatePage>& pages,
                   const std::string& format, const std::string& trace,
                   bool color) {
  if (format == "json") return StateDocument(index, pages) + "\n";
  std::string text;
  for (const viewer::StatePage& page : pages) {
    if (format == "jsonl") {
      text += StatePageJson(index, page) + "\n";
      continue;
    }
    if (!text.empty()) text += "\n";
    text += StatePageText(index, page,
                          {.path = trace,
                           .width = base::OutputWidth(STDOUT_FILENO),
                           .color = color});
  }
  return text;
}

void SayPause(const logformat::TraceInfo& info, std::uint64_t at_ns) {
  const logformat::TimeSpan* const pause = logformat::PauseAt(info, at_ns);
  if (pause == nullptr) return;
  Say(kStateVerb.name,
      absl::StrFormat("@%s lies in a pause since @%s, which is left out",
                      base::FormatSeconds(at_ns),
                      base::FormatSeconds(pause->from_ns)));
}

absl::StatusOr<std::unique_ptr<viewer::TimelineIndex>> OpenIndex(
    const std::string& trace, TraceInput& input) {
  ProgressBar progress("indexing " + trace, input.show_progress());
  const auto directory = input.Directory(trace);
  if (!directory.ok()) return directory.status();
  auto index = viewer::OpenOrBuildIndex(*directory, progress.Callback(),
                                        /*shown_as=*/trace);
  progress.Clear();
  return index;
}

// The state of each host at one instant of their clock, in `format`; null if
// its trace does not have it. Errors: wrong usage; of the index.
absl::StatusOr<std::string> StatesOfHosts(const HostTraces& hosts,
                                          const std::string& at,
                                          const Stepping& stepping,
                                          const viewer::StateOptions& options,
                                          const std::string& format, bool color,
                                          TraceInput& input) {
  if (!stepping.kind.empty()) {
    return AsUsage(absl::InvalidArgumentError(
        "--next and --previous step in one trace: give that of one host, "
        "without its name, as in " +
        hosts.readers[0]->info().path));
  }
  const TraceExtent all = ExtentOf(hosts);
  const auto instant = ParseInstant(at, all);
  if (!instant.ok()) {
    return AsUsage(absl::InvalidArgumentError(
        absl::StrFormat("--at: %s", instant.status().message())));
  }
  std::string text;
  nlohmann::ordered_json document = {{"schema", "countrace.host_states/1"},
                                     {"t_ns", all.begin_ns + *instant},
                                     {"offset_ns", *instant}};
  for (std::size_t i = 0; i < hosts.readers.size(); ++i) {
    const rmap::HostClock& clock = hosts.clocks[i];
    const std::string& path = hosts.readers[i]->info().path;
    const auto index = OpenIndex(path, input);
    if (!index.ok()) return index.status();
    const std::uint64_t begin_ns = (*index)->header().begin_ns;
    const std::uint64_t end_ns = begin_ns + (*index)->duration_ns();
    const std::uint64_t common_ns = std::clamp(
        all.begin_ns + *instant, clock.Common(begin_ns), clock.Common(end_ns));
    const std::uint64_t own_ns =
        std::clamp(clock.Own(common_ns), begin_ns, end_ns);
    std::vector<viewer::StatePage> pages;
    if (common_ns == all.begin_ns + *instant) {
      SayPause(hosts.readers[i]->info(), own_ns);
      pages.push_back(
          CollectPage(**index, own_ns - begin_ns, options, std::nullopt));
    }
    if (format == "text") {
      absl::StrAppendFormat(
          &text, "%sHOST %s, within %s (clock: %s)\n", i == 0 ? "" : "\n",
          hosts.traces[i].name,
          base::FormatNanoseconds(static_cast<double>(clock.WithinNs(own_ns))),
          base::EscapeName(clock.how()));
      text += pages.empty() ? "nothing of that instant is in its trace\n"
                            : Render(**index, pages, format, path, color);
      continue;
    }
    auto page = nlohmann::ordered_json::parse(StateDocument(**index, pages));
    auto& host = document["hosts"].emplace_back();
    host = {{"host", hosts.traces[i].name},
            {"clock", clock.how()},
            {"within_ns", clock.WithinNs(own_ns)},
            {"trace", std::move(page["trace"])},
            {"state", std::move(page["states"][0])}};
    if (format == "jsonl") text += host.dump() + "\n";
  }
  return format == "json" ? document.dump(1) + "\n" : text;
}

int RunState(const Arguments& arguments) {
  VerbParser parser(kStateVerb);
  TraceOptions options;
  TraceInput input(kStateVerb.name, options);
  std::string at, next, previous, format, color;
  std::vector<std::string> of;
  std::uint64_t steps = 1, window_ns = 10'000'000;
  bool all = false;
  parser.AddReadTrace(options);
  parser.AddText("--at", at);
  parser.AddChoice("--next", next, kKinds);
  parser.AddChoice("--previous", previous, kKinds);
  parser.AddTexts("--of", of);
  parser.AddNumber("--steps", steps, 1'000'000);
  parser.AddDuration("--window", window_ns);
  parser.AddFlag("--all", all);
  parser.AddFormat(format, {"text", "json", "jsonl"});
  parser.AddColor(color);
  parser.AddText("--pairs", options.pairs);
  parser.AddNoProgress(options.no_progress);
  if (const auto status = parser.Parse(arguments)) return *status;
  if (!next.empty() && !previous.empty()) {
    return parser.UsageError("--next and --previous exclude each other");
  }
  const Stepping stepping{.forward = previous.empty(),
                          .kind = next.empty() ? previous : next,
                          .steps = std::max<std::uint64_t>(steps, 1)};
  if (stepping.kind.empty() && (!of.empty() || parser.is_given("--steps"))) {
    return parser.UsageError("--of and --steps need --next or --previous");
  }
  if (stepping.kind.empty() && at.empty()) {
    return parser.UsageError(
        "say which instant: --at 1.5s, --at 50%, or --next or --previous");
  }
  const viewer::StateOptions shown = {
      .threads =
          all ? viewer::StateThreads::kAll : viewer::StateThreads::kActive,
      .window_ns = window_ns};
  // Reports the trace's state; the index has its own reader.
  const auto traces = OpenTraces(options, input);
  if (!traces.ok()) return parser.Fail(traces.status());
  const logformat::TraceReader& reader = *traces->readers[0];
  if (!traces->clocks.empty()) {
    const auto text = StatesOfHosts(*traces, at, stepping, shown, format,
                                    UseColor(color), input);
    if (!text.ok()) return parser.Fail(text.status());
    return PrintData(kStateVerb.name, *text);
  }
  const auto index = OpenIndex(options.trace, input);
  if (!index.ok()) return ReportFailure(kStateVerb.name, index.status());
  std::uint64_t time_ns = 0;
  if (!at.empty()) {
    const auto instant =
        ParseInstant(at, ExtentOf(reader.info(), (*index)->header().begin_ns,
                                  (*index)->duration_ns()));
    if (!instant.ok()) {
      return parser.UsageError("--at: " +
                               std::string(instant.status().message()));
    }
    time_ns = *instant;
    SayPause(reader.info(), (*index)->header().begin_ns + time_ns);
  } else if (!previous.empty()) {
    time_ns = (*index)->duration_ns() + 1;  // also what happens at the end
  }
  const auto filter = viewer::FilterOf(**index, stepping.kind, of);
  if (!filter.ok()) return ReportFailure(kStateVerb.name, filter.status());

  const std::vector<viewer::StatePage> pages =
      CollectPages(**index, time_ns, shown, stepping, *filter,
                   /*every_step=*/format != "text");
  if (pages.empty()) {
    Say(kStateVerb.name,
        absl::StrFormat("nothing of this kind %s that instant: kind=%s",
                        stepping.forward ? "after" : "before", stepping.kind));
    return kExitFailed;
  }
  return PrintData(kStateVerb.name, Render(**index, pages, format,
                                           options.trace, UseColor(color)));
}

}  // namespace

const Verb kStateVerb = {"state", kStateHelp, RunState};

}  // namespace countrace::cli
