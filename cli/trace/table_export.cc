#include "cli/trace/table_export.h"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <string_view>

#include "absl/strings/str_format.h"
#include "base/posix/errno_status.h"
#include "base/posix/pending_file.h"
#include "cli/program/exit_status.h"
#include "cli/program/interruption.h"
#include "cli/program/progress_bar.h"
#include "cli/program/verb.h"
#include "rmap/columns/report_tables.h"
#include "rmap/export/export_tables.h"
#include "rmap/export/perfetto/perfetto_export.h"
#include "rmap/export/profile.h"
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

// Errors: INVALID_ARGUMENT the trace has no such rows.
absl::StatusOr<rmap::ExportRows> RowsOf(const logformat::TraceReader& reader,
                                        const TableExport& wanted) {
  rmap::ExportRows rows = {.owners = {wanted.process, wanted.thread}};
  if (wanted.range.given()) {
    const auto range = ParseRange(wanted.range, ExtentOf(reader));
    if (!range.ok()) {
      return absl::InvalidArgumentError(range.status().message());
    }
    rows.range = {range->from_ns, range->to_ns};
  }
  if (!wanted.where.empty()) {
    auto where = rmap::where::ParseWhere(wanted.where);
    if (!where.ok()) return where.status();
    rows.where = *std::move(where);
  }
  if (wanted.table.empty()) return rows;
  const absl::Status fits = rmap::CheckRows(rows, wanted.table, reader.info());
  if (!fits.ok()) return fits;
  return rows;
}

void SayOtherBytes(const TableExport& wanted) {
  const bool text = wanted.format == "csv" || wanted.format == "folded" ||
                    wanted.format == "callgrind";
  Say(kExportVerb.name,
      absl::StrFormat("some names are not UTF-8; such bytes are %s there",
                      text ? "\\xHH" : "U+FFFD"));
}

absl::Status WriteDatabase(logformat::TraceReader& reader,
                           const TableExport& wanted,
                           const rmap::ExportRows& rows,
                           const logformat::ProgressCallback& progress,
                           const base::PendingFile& file) {
  const auto database = rmap::SqliteDatabase::Open(
      file.temporary(), wanted.output, [] { return IsInterrupted(); });
  if (!database.ok()) return database.status();
  rmap::SqliteWriter writer(**database);
  const auto names = rmap::ExportTables(reader, rows, progress, writer);
  if (writer.has_other_bytes()) SayOtherBytes(wanted);
  return names.status();
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
  names.emplace_back("books");
  for (const rmap::TableSchema& table : rmap::StreamedTables()) {
    names.push_back(table.name);
  }
  return names;
}

absl::Status ExportAsTables(const std::string& trace, const TableExport& wanted,
                            TraceInput& input) {
  const auto reader = input.Open(trace);
  if (!reader.ok()) return reader.status();
  const auto rows = RowsOf(**reader, wanted);
  if (!rows.ok()) return AsUsage(rows.status());
  const InterruptionGuard guard;  // from where there is something to remove
  base::PendingFile file(wanted.output);
  const bool to_file = !wanted.output.empty();
  if (to_file) {
    const absl::Status made = file.Create();
    if (!made.ok()) return made;
  }
  ProgressBar progress("exporting " + trace, input.show_progress());
  const auto write = [&](std::string_view text) {
    return to_file ? file.Append(text) : Print(text);
  };
  absl::Status written;
  if (wanted.is_profile()) {
    const auto text = ProfileText(**reader, wanted, *rows, progress.Callback());
    written = text.ok() ? write(*text) : text.status();
  } else if (wanted.format == "perfetto") {
    written = rmap::ExportPerfetto(**reader, progress.Callback(), write);
  } else if (wanted.format == "sqlite") {
    written = WriteDatabase(**reader, wanted, *rows, progress.Callback(), file);
  } else {
    rmap::TextWriter writer(wanted.format == "csv"
                                ? rmap::TextFormat::kCsv
                                : rmap::TextFormat::kJsonLines,
                            wanted.table, write);
    written = rmap::ExportTables(**reader, *rows, progress.Callback(), writer)
                  .status();
    if (writer.has_other_bytes()) SayOtherBytes(wanted);
  }
  progress.Clear();
  if (!written.ok()) return written;
  if (to_file) return file.Commit();
  return std::fflush(stdout) == 0 ? absl::OkStatus() : Print("\n");
}

}  // namespace countrace::cli
