// Any bytes as a trace directory: opened, replayed, reconstructed, printed,
// verified, finished and read again. No crash, no endless loop, time never goes
// back, and finishing again changes nothing.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "logformat/read/script_render.h"
#include "logformat/read/trace_reader.h"
#include "logformat/records.h"
#include "logformat/repair/trace_finish.h"
#include "logformat/repair/trace_verify.h"
#include "rmap/pipeline.h"
#include "rmap/report/report_render.h"
#include "runtime/rules/rule_replay.h"
#include "tests/fuzz/directory_image.h"
#include "tests/support/trace_builder.h"

namespace {

using countrace::logformat::DiscardedEvents;
using countrace::logformat::DiscardedPackets;
using countrace::logformat::EventRecord;
using countrace::logformat::TraceReader;

// libFuzzer saves the input when the program aborts.
void Require(bool holds, const char* claim) {
  if (holds) return;
  std::fprintf(stderr, "does not hold: %s\n", claim);
  std::abort();
}

class Printing final : public countrace::logformat::ItemSink {
 public:
  explicit Printing(const TraceReader& reader) : renderer_(reader.info()) {}
  void OnRecord(const EventRecord& record) override {
    Require(record.time_ns >= last_ns_, "time never goes back");
    last_ns_ = record.time_ns;
    text_.clear();
    renderer_.AppendRecord(record, text_);
    Require(!text_.empty() && text_.back() == '\n', "a record is a line");
  }
  void OnDiscardedEvents(const DiscardedEvents& loss) override {
    renderer_.AppendLoss(loss, text_);
  }
  void OnDiscardedPackets(const DiscardedPackets& loss) override {
    renderer_.AppendLoss(loss, text_);
  }

 private:
  const countrace::logformat::ScriptRenderer renderer_;
  std::uint64_t last_ns_ = 0;
  std::string text_;
};

using countrace::rmap::ReportBy;
using countrace::rmap::ReportFormat;
using countrace::rmap::TimelineObserver;

// With an observer records are delivered one by one, else in runs of a thread.
void RenderTables(TraceReader& reader, TimelineObserver* observer) {
  const auto report =
      countrace::rmap::Reconstruct(reader, {.observer = observer});
  if (!report.ok()) return;
  for (const ReportBy by : {ReportBy::kPath, ReportBy::kWaker}) {
    (void)countrace::rmap::RenderReport(
        *report, {.format = ReportFormat::kJson, .by = by, .max_rows = 0});
  }
  for (const ReportFormat format : {ReportFormat::kText, ReportFormat::kCsv}) {
    (void)countrace::rmap::RenderReport(*report, {.format = format});
  }
}

void ReadEverything(const std::string& path) {
  const auto reader = TraceReader::Open(path);
  if (!reader.ok()) {
    Require(!reader.status().message().empty(), "an error says something");
    return;
  }
  Printing printing(**reader);
  (void)(*reader)->Read(printing);
  using countrace::runtime::ParseDumpRules;
  using countrace::runtime::ReplayDumpRules;
  static const auto rules = ParseDumpRules(
      {"*:h* if arg0 > 1 and arg1 == \"GET\"", "at most every 1ms every 2"});
  (void)ReplayDumpRules(**reader, *rules, /*tick_ns=*/4'000'000);
  RenderTables(**reader, nullptr);
  TimelineObserver observer;
  RenderTables(**reader, &observer);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data,
                                      std::size_t size) {
  static const countrace::test_support::TempDirectory folder(
      countrace::test_support::TempDirectory::Place::kMemory);
  const std::string path = folder / "t";
  countrace::logformat::WriteDirectory(
      path, countrace::fuzz::FromImage({data, size}));
  ReadEverything(path);
  (void)countrace::logformat::VerifyTrace(path);
  const auto finished = countrace::logformat::FinishTrace(path, {});
  if (!finished.ok()) return 0;
  ReadEverything(path);
  const auto again = countrace::logformat::FinishTrace(path, {});
  Require(again.ok() && again->already_finished, "finishing is done once");
  return 0;
}
