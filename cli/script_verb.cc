#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <string>

#include "cli/exit_status.h"
#include "cli/help_texts.h"
#include "cli/progress_bar.h"
#include "cli/terminal.h"
#include "cli/trace_input.h"
#include "cli/verb.h"
#include "cli/verb_parser.h"
#include "logformat/read/script_render.h"

namespace countrace::cli {
namespace {

// Prints items as they come, in large writes.
class Printer final : public logformat::ItemSink {
 public:
  explicit Printer(const logformat::TraceInfo& info) : renderer_(info) {}

  void OnRecord(const logformat::EventRecord& record) override {
    renderer_.AppendRecord(record, text_);
    if (text_.size() >= kWriteBytes) Flush();
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
  bool has_loss() const { return has_loss_; }

 private:
  static constexpr std::size_t kWriteBytes = 256 << 10;

  template <typename Loss>
  void SayLoss(const Loss& loss) {
    has_loss_ = true;
    // Keep the order on a terminal that shows both.
    Flush();
    std::string line;
    renderer_.AppendLoss(loss, line);
    std::fwrite(line.data(), 1, line.size(), stderr);
  }

  const logformat::ScriptRenderer renderer_;
  std::string text_;
  bool failed_ = false, has_loss_ = false;
};

int RunScript(const Arguments& arguments) {
  VerbParser parser(kScriptVerb);
  TraceOptions options;
  TraceInput input(kScriptVerb.name, options);
  bool fail_on_loss = false;
  parser.AddReadTrace(options);
  parser.AddFailOnLoss(fail_on_loss);
  parser.AddNoProgress(options.no_progress);
  if (const auto status = parser.Parse(arguments)) return *status;

  const auto reader = input.Open(options.trace);
  if (!reader.ok()) return ReportFailure(kScriptVerb.name, reader.status());
  // Records printed on a terminal show the progress themselves.
  ProgressBar progress("printing " + options.trace,
                       input.show_progress() && !IsTerminal(STDOUT_FILENO));
  Printer printer((*reader)->info());
  const absl::Status status =
      (*reader)->Read(printer, [&](const logformat::Progress& read) {
        progress.Update(read.done, read.total);
        return !printer.failed();  // stops when the output is closed
      });
  progress.Clear();
  printer.Flush();
  if (printer.failed()) return kExitFailed;
  if (!status.ok()) return ReportFailure(kScriptVerb.name, status);
  return fail_on_loss && printer.has_loss() ? kExitLoss : kExitOk;
}

}  // namespace

const Verb kScriptVerb = {"script", kScriptHelp, RunScript};

}  // namespace countrace::cli
