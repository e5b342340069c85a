#include <algorithm>
#include <cstdint>
#include <string>

#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "base/text/quantity_format.h"
#include "cli/program/exit_status.h"
#include "cli/program/help_texts.h"
#include "cli/program/row_table.h"
#include "cli/program/trace_options.h"
#include "cli/program/verb.h"
#include "cli/program/verb_parser.h"
#include "logformat/repair/trace_verify.h"

namespace countrace::cli {
namespace {

using logformat::VerifyFinding;
using logformat::VerifyResult;

std::string Text(const std::string& trace, const VerifyResult& result) {
  std::string out;
  // Each of a million packets may be damaged.
  constexpr std::size_t kMostFindings = 1000;
  for (std::size_t i = 0; i < std::min(result.findings.size(), kMostFindings);
       ++i) {
    const VerifyFinding& finding = result.findings[i];
    const char* const kind = finding.is_loss ? "loss" : "damage";
    const std::string what = base::EscapeName(finding.what);
    if (finding.file.empty()) {
      absl::StrAppendFormat(&out, "%s: %s\n", kind, what);
    } else {
      absl::StrAppendFormat(&out, "%s: %s, byte %d: %s\n", kind,
                            base::EscapeName(finding.file), finding.offset,
                            what);
    }
  }
  if (result.findings.size() > kMostFindings) {
    absl::StrAppendFormat(
        &out, "%s more findings: --format jsonl has them\n",
        base::FormatCount(result.findings.size() - kMostFindings));
  }
  absl::StrAppendFormat(
      &out,
      "%s: %s; %s records in %s packets of %s streams; %s; checksums by their "
      "writers: %s\n",
      base::EscapeName(trace), result.ok ? "sound" : "not sound",
      base::FormatCount(result.records), base::FormatCount(result.packets),
      base::FormatCount(result.streams), logformat::StateLoss(result.loss).text,
      base::FormatCount(result.checked_packets));
  return out;
}

RowTable Rows(const VerifyResult& result) {
  RowTable table("countrace.verify/1", "findings",
                 {"kind", "file", "offset", "what"});
  for (const VerifyFinding& finding : result.findings) {
    table.Add({std::string(finding.is_loss ? "loss" : "damage"), finding.file,
               finding.offset, finding.what});
  }
  return table;
}

int RunVerify(const Arguments& arguments) {
  VerbParser parser(kVerifyVerb);
  std::string trace = kDefaultTrace;
  std::string format;
  bool fail_on_loss = false;
  parser.AddTrace(trace);
  parser.AddFormat(format, {"text", "json", "jsonl", "csv"});
  parser.AddFailOnLoss(fail_on_loss);
  if (const auto status = parser.Parse(arguments)) return *status;

  const auto result = logformat::VerifyTrace(trace);
  if (!result.ok()) return ReportFailure(kVerifyVerb.name, result.status());
  const int exit_status =
      result->ok ? ExitOf(logformat::StateLoss(result->loss), fail_on_loss)
                 : kExitFailed;
  return PrintData(
      kVerifyVerb.name,
      format == "text" ? Text(trace, *result) : Rows(*result).Render(format),
      exit_status);
}

}  // namespace

const Verb kVerifyVerb = {"verify", kVerifyHelp, RunVerify};

}  // namespace countrace::cli
