#include "cli/verbs/table_export.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <string_view>

#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "base/posix/errno_status.h"
#include "base/posix/pending_file.h"
#include "base/text/name_escape.h"
#include "cli/hosts/host_traces.h"
#include "cli/program/exit_status.h"
#include "cli/program/interruption.h"
#include "cli/program/progress_bar.h"
#include "cli/program/verb.h"
#include "logformat/description/recorded_part.h"
#include "logformat/sample_points.h"
#include "logformat/system_call_exit.h"
#include "rmap/columns/report_tables.h"
#include "rmap/export/host_tables.h"
#include "rmap/export/perfetto/perfetto_export.h"
#include "rmap/export/profile.h"
#include "rmap/export/report_table.h"
#include "rmap/export/sqlite_database.h"
#include "rmap/export/sqlite_writer.h"
#include "rmap/export/streamed_tables.h"
#include "rmap/export/text_writer.h"
#include "rmap/pipeline.h"

namespace countrace::cli {
namespace {

absl::Status Print(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size()) {
    return absl::OkStatus();
  }
  return base::OutputStatus(errno, "Cannot write to standard output");
}

// Errors: INVALID_ARGUMENT a trace has no such rows.
absl::StatusOr<std::vector<rmap::ExportRows>> RowsOf(
    const HostTraces& traces, const TableExport& wanted) {
  rmap::ExportRows rows = {.owners = {wanted.process, wanted.thread},
                           .texts = !wanted.no_texts};
  if (!wanted.where.empty()) {
    auto where = rmap::where::ParseWhere(wanted.where);
    if (!where.ok()) return where.status();
    rows.where = *std::move(where);
  }
  return RowsOfEach(traces, rows, wanted.range, wanted.table);
}

void SayOtherBytes(const TableExport& wanted) {
  const bool text = wanted.format == "csv" || wanted.format == "folded" ||
                    wanted.format == "callgrind";
  Say(kExportVerb.name,
      absl::StrFormat("some names are not UTF-8; such bytes are %s there",
                      text ? "\\xHH" : "U+FFFD"));
}

// Texts are anyone's file names, statements, passwords: the one who passes the
// file on must know. Names of sampled code are none of them.
// Returns: it said so.
bool SayTexts(const TableExport& wanted, const logformat::TraceInfo& info) {
  const auto holds = [&](const char* table) {
    return wanted.format == "sqlite" || wanted.table == table;
  };
  std::vector<std::string> hooks;
  for (const logformat::HookInfo& hook : info.hooks) {
    constexpr auto kText = logformat::PayloadType::kString;
    const bool texts = std::ranges::count(hook.payload, kText) +
                           std::ranges::count(hook.exit_payload, kText) !=
                       0;
    const bool inside =
        wanted.format == "perfetto" ||
        (hook.kind == logformat::HookKind::kPoint && holds("points")) ||
        (logformat::IsSystemCall(hook) && holds("files"));
    const bool code = SamplePointOf(hook) != logformat::SamplePoint::kNone;
    if (texts && inside && !code)
      hooks.push_back(base::EscapeName(hook.FullName()));
  }
  if (wanted.no_texts || hooks.empty()) return false;
  constexpr std::size_t kMost = 3;
  const bool more = hooks.size() > kMost;
  if (more) hooks.resize(kMost);
  Say(kExportVerb.name,
      absl::StrFormat("texts that hooks stored are inside (%s%s); --no-texts "
                      "leaves them out",
                      absl::StrJoin(hooks, ", "), more ? ", ..." : ""));
  return true;
}

// Writes the tables that a writer takes.
using WriteTables = std::function<absl::Status(rmap::TableWriter&)>;

absl::Status WriteDatabase(const TableExport& wanted, const WriteTables& write,
                           const base::PendingFile& file) {
  const auto database = rmap::SqliteDatabase::Open(
      file.temporary(), wanted.output, [] { return IsInterrupted(); });
  if (!database.ok()) return database.status();
  rmap::SqliteWriter writer(**database);
  absl::Status written = write(writer);
  if (writer.has_other_bytes()) SayOtherBytes(wanted);
  return written;
}

absl::StatusOr<std::string> ProfileText(
    logformat::TraceReader& reader, const TableExport& wanted,
    const rmap::ExportRows& rows, const logformat::ProgressCallback& progress) {
  const auto report = rmap::Reconstruct(
      reader,
      {.rows = {.samples = true}, .range = rows.range, .progress = progress});
  if (!report.ok()) return report.status();
  const auto profile =
      rmap::ProfileOf(*report, reader.info(), wanted.weight, rows.owners);
  if (!profile.ok()) return AsUsage(profile.status());
  if (profile->has_other_bytes) SayOtherBytes(wanted);
  if (wanted.format == "folded") return rmap::FoldedText(*profile);
  return wanted.format == "pprof" ? rmap::PprofBytes(*profile)
                                  : rmap::CallgrindText(*profile);
}

}  // namespace

std::vector<std::string> TableNames() {
  std::vector<std::string> names;
  rmap::ForEachTable(
      [&](const auto& table) { names.emplace_back(table.name); });
  names.emplace_back(rmap::kBooksTable);
  names.emplace_back(rmap::kEventsTable);
  for (const rmap::TableSchema& table : rmap::StreamedTables()) {
    names.push_back(table.name);
  }
  names.emplace_back("hosts");
  return names;
}

absl::Status ExportAsTables(const TraceOptions& options,
                            const TableExport& wanted, TraceInput& input) {
  const auto traces = OpenTraces(options, input);
  if (!traces.ok()) return traces.status();
  const auto rows = RowsOf(*traces, wanted);
  if (!rows.ok()) return AsUsage(rows.status());
  logformat::TraceReader& reader = *traces->readers[0];
  const InterruptionGuard guard;  // from where there is something to remove
  base::PendingFile file(wanted.output);
  const bool to_file = !wanted.output.empty();
  if (to_file) {
    const absl::Status made = file.Create();
    if (!made.ok()) return made;
  }
  ProgressBar progress("exporting " + options.trace, input.show_progress());
  const auto write = [&](std::string_view text) {
    return to_file ? file.Append(text) : Print(text);
  };
  const WriteTables write_tables = [&](rmap::TableWriter& writer) {
    return rmap::ExportTables(traces->traces, traces->clocks, *rows,
                              progress.Callback(), writer)
        .status();
  };
  absl::Status written;
  if (wanted.is_profile()) {
    const auto text =
        ProfileText(reader, wanted, rows->front(), progress.Callback());
    written = text.ok() ? write(*text) : text.status();
  } else if (wanted.format == "perfetto") {
    written = rmap::ExportPerfetto(reader, rows->front().texts,
                                   progress.Callback(), write);
  } else if (wanted.format == "sqlite") {
    written = WriteDatabase(wanted, write_tables, file);
  } else {
    rmap::TextWriter writer(wanted.format == "csv"
                                ? rmap::TextFormat::kCsv
                                : rmap::TextFormat::kJsonLines,
                            wanted.table, write);
    written = write_tables(writer);
    if (writer.has_other_bytes()) SayOtherBytes(wanted);
  }
  progress.Clear();
  if (!written.ok()) return written;
  for (const auto& of : traces->readers) {
    if (SayTexts(wanted, of->info())) break;
  }
  if (to_file) return file.Commit();
  return std::fflush(stdout) == 0 ? absl::OkStatus() : Print("\n");
}

}  // namespace countrace::cli
