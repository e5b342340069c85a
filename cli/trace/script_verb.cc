#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "cli/program/exit_status.h"
#include "cli/program/help_texts.h"
#include "cli/program/progress_bar.h"
#include "cli/program/range_options.h"
#include "cli/program/terminal.h"
#include "cli/program/verb.h"
#include "cli/program/verb_parser.h"
#include "cli/trace/script_choice.h"
#include "cli/trace/trace_input.h"
#include "logformat/description/recorded_part.h"
#include "logformat/read/clock_samples.h"
#include "logformat/read/record_filter.h"
#include "logformat/read/script_json.h"
#include "logformat/read/script_render.h"
#include "rmap/tables/input/loss_ledger.h"
#include "rmap/where/record_condition.h"
#include "rmap/where/where_expression.h"

namespace countrace::cli {
namespace {

// Prints the chosen items as they come, in large writes.
class Printer final : public logformat::ItemSink {
 public:
  using Condition = std::optional<rmap::where::RecordCondition>;

  Printer(const logformat::TraceInfo& info,
          const logformat::RecordChoice& choice, Condition where, bool json,
          std::vector<logformat::ClockSample> clocks)
      : clocks_(std::move(clocks)),
        renderer_(info),
        json_renderer_(info),
        filter_(info, choice),
        where_(std::move(where)),
        from_ns_(choice.from_ns),
        to_ns_(choice.to_ns),
        json_(json) {}

  void OnRecord(const logformat::EventRecord& record) override {
    if (record.time_ns >= to_ns_) done_ = true;
    PrintClocks(record.time_ns);
    Print(record);
  }
  // The samples of the clocks before `until_ns`, in their order.
  void PrintClocks(std::uint64_t until_ns) {
    while (next_clock_ < clocks_.size() &&
           clocks_[next_clock_].monotonic_ns < until_ns) {
      logformat::EventRecord record{};
      record.time_ns = clocks_[next_clock_].monotonic_ns;
      record.stream_class = logformat::StreamClass::kClock;
      record.event_id = logformat::kClockSampleEvent;
      const logformat::ClockRecord& stored = clocks_[next_clock_++];
      record.bytes = std::as_bytes(std::span(&stored, 1));
      Print(record);
    }
  }
  void OnDiscardedEvents(const logformat::DiscardedEvents& loss) override {
    SayLoss(loss);
  }
  void OnDiscardedPackets(const logformat::DiscardedPackets& loss) override {
    SayLoss(loss);
  }

  void Flush() {
    if (failed_) return;
    failed_ = PrintData(kScriptVerb.name, text_) != kExitOk;
    text_.clear();
  }
  bool failed() const { return failed_; }
  // All that comes is after the range.
  bool done() const { return done_; }
  std::size_t hooks_matched() const { return filter_.hooks_matched(); }
  logformat::LossStatement Loss(const logformat::TraceReader& reader) const {
    return logformat::StateLoss(ledger_.Finish(reader));
  }

 private:
  static constexpr std::size_t kWriteBytes = 256 << 10;

  void Print(const logformat::EventRecord& record) {
    if (!filter_.Passes(record)) return;
    if (where_ && !where_->Holds(record)) return;
    if (json_) {
      json_renderer_.AppendRecord(record, text_);
    } else {
      renderer_.AppendRecord(record, text_);
    }
    if (text_.size() >= kWriteBytes) Flush();
  }

  template <typename Lost>
  void SayLoss(const Lost& loss) {
    // Whose records were lost is not known: only the time excludes a loss.
    if (loss.end_ns < from_ns_ || loss.begin_ns >= to_ns_) return;
    ledger_.Add(loss);
    // Keep the order on a terminal that shows both.
    Flush();
    std::string line;
    renderer_.AppendLoss(loss, line);
    std::fwrite(line.data(), 1, line.size(), stderr);
  }

  const std::vector<logformat::ClockSample> clocks_;
  std::size_t next_clock_ = 0;
  const logformat::ScriptRenderer renderer_;
  const logformat::ScriptJsonRenderer json_renderer_;
  const logformat::RecordFilter filter_;
  const Condition where_;
  const std::uint64_t from_ns_, to_ns_;
  const bool json_;
  std::string text_;
  rmap::LossLedger ledger_;
  bool failed_ = false, done_ = false;
};

absl::StatusOr<rmap::where::RecordCondition> Bind(
    const std::string& where, const logformat::TraceInfo& info) {
  auto parsed = rmap::where::ParseWhere(where);
  if (!parsed.ok()) return parsed.status();
  return rmap::where::RecordCondition::Bind(*std::move(parsed), info);
}

int RunScript(const Arguments& arguments) {
  VerbParser parser(kScriptVerb);
  TraceOptions options;
  TraceInput input(kScriptVerb.name, options);
  ScriptOptions wanted;
  std::string format, where;
  bool fail_on_loss = false;
  parser.AddReadTrace(options);
  AddRangeOptions(parser, wanted.range);
  parser.AddTexts("--process", wanted.processes);
  parser.AddTexts("--thread", wanted.threads);
  parser.AddTexts("--hook", wanted.hooks);
  parser.AddText("--where", where);
  parser.AddFormat(format, {"text", "jsonl"});
  parser.AddFailOnLoss(fail_on_loss);
  parser.AddNoProgress(options.no_progress);
  if (const auto status = parser.Parse(arguments)) return *status;
  if (const absl::Status range = CheckRangeOptions(parser, wanted.range);
      !range.ok()) {
    return parser.UsageError(std::string(range.message()));
  }

  const auto reader =
      input.Open(options.trace, wanted.range.given() ? TimesUse::kNeeded
                                                     : TimesUse::kNotNeeded);
  if (!reader.ok()) return ReportFailure(kScriptVerb.name, reader.status());
  if (const auto pauses =
          logformat::PausesIn((*reader)->info(), 0, (*reader)->end_ns());
      !pauses.empty()) {
    Say(kScriptVerb.name,
        absl::StrFormat("pauses=%d: their records are printed too, and are in "
                        "no table",
                        pauses.size()));
  }
  ProgressBar names("finding names in " + options.trace, input.show_progress());
  const auto choice = ChooseRecords(wanted, **reader, names.Callback());
  names.Clear();
  if (absl::IsInvalidArgument(choice.status()) ||
      absl::IsOutOfRange(choice.status())) {
    return parser.UsageError(std::string(choice.status().message()));
  }
  if (!choice.ok()) return ReportFailure(kScriptVerb.name, choice.status());
  Printer::Condition condition;
  if (parser.is_given("--where")) {
    auto bound = Bind(where, (*reader)->info());
    if (!bound.ok()) {
      return parser.UsageError(std::string(bound.status().message()));
    }
    condition = *std::move(bound);
  }
  // Records printed on a terminal show the progress themselves.
  ProgressBar progress("printing " + options.trace,
                       input.show_progress() && !IsTerminal(STDOUT_FILENO));
  auto clocks = logformat::ReadClockSamples(**reader);
  if (!clocks.ok()) return ReportFailure(kScriptVerb.name, clocks.status());
  for (const std::string& what : clocks->damage) Say(kScriptVerb.name, what);
  Printer printer((*reader)->info(), *choice, std::move(condition),
                  format == "jsonl", std::move(clocks->samples));
  if (choice->hooks && printer.hooks_matched() == 0) {
    Say(kScriptVerb.name,
        absl::StrFormat("no hook of the trace matches --hook: `countrace list "
                        "hooks %s` names them",
                        base::EscapeName(options.trace)));
    return kExitFailed;
  }
  const absl::Status status =
      (*reader)->Read(printer, [&](const logformat::Progress& read) {
        progress.Update(read.done, read.total);
        // Stops when the output is closed.
        return !printer.failed() && !printer.done();
      });
  progress.Clear();
  printer.PrintClocks(~std::uint64_t{0});
  printer.Flush();
  if (printer.failed()) return kExitFailed;
  if (!status.ok() && !printer.done())
    return ReportFailure(kScriptVerb.name, status);
  return ExitOf(printer.Loss(**reader), fail_on_loss);
}

}  // namespace

const Verb kScriptVerb = {"script", kScriptHelp, RunScript};

}  // namespace countrace::cli
