#include "cli/trace/table_export.h"

#include <cerrno>
#include <cstdio>
#include <memory>
#include <string_view>

#include "base/posix/errno_status.h"
#include "base/posix/pending_file.h"
#include "cli/program/interruption.h"
#include "cli/program/progress_bar.h"
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

absl::Status WriteDatabase(logformat::TraceReader& reader,
                           const TableExport& wanted,
                           const logformat::ProgressCallback& progress,
                           const base::PendingFile& file) {
  const auto database = rmap::SqliteDatabase::Open(
      file.temporary(), wanted.output, [] { return IsInterrupted(); });
  if (!database.ok()) return database.status();
  rmap::SqliteWriter writer(**database);
  return rmap::ExportTables(reader, progress, writer).status();
}

absl::StatusOr<std::string> ProfileText(
    logformat::TraceReader& reader, const TableExport& wanted,
    const logformat::ProgressCallback& progress) {
  const auto report = rmap::Reconstruct(
      reader, {.rows = {.samples = true}, .progress = progress});
  if (!report.ok()) return report.status();
  const auto profile = rmap::ProfileOf(*report, wanted.weight);
  if (!profile.ok()) return profile.status();
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
  const InterruptionGuard guard;
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
    const auto text = ProfileText(**reader, wanted, progress.Callback());
    written = text.ok() ? write(*text) : text.status();
  } else if (wanted.format == "perfetto") {
    written = rmap::ExportPerfetto(**reader, progress.Callback(), write);
  } else if (wanted.format == "sqlite") {
    written = WriteDatabase(**reader, wanted, progress.Callback(), file);
  } else {
    rmap::TextWriter writer(wanted.format == "csv"
                                ? rmap::TextFormat::kCsv
                                : rmap::TextFormat::kJsonLines,
                            wanted.table, write);
    written =
        rmap::ExportTables(**reader, progress.Callback(), writer).status();
  }
  progress.Clear();
  if (!written.ok()) return written;
  if (to_file) return file.Commit();
  return std::fflush(stdout) == 0 ? absl::OkStatus() : Print("\n");
}

}  // namespace countrace::cli
