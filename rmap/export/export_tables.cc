#include "rmap/export/export_tables.h"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "absl/strings/str_format.h"
#include "rmap/export/report_facts.h"
#include "rmap/export/report_tables_export.h"
#include "rmap/export/sample_tables.h"
#include "rmap/export/stream_observer.h"
#include "rmap/pipeline.h"
#include "rmap/range_observer.h"
#include "rmap/samples/names/blocked_places.h"
#include "rmap/tables/input/report_events.h"
#include "rmap/where/row_filter.h"

namespace countrace::rmap {
namespace {

void WriteMeta(const Report& report, RowWriter* rows) {
  if (rows == nullptr) return;
  ForEachFact(report, [rows](const std::string& key, const std::string& value) {
    rows->Write(
        std::array<Value, 2>{std::string_view(key), TextOrAbsent(value)});
  });
}

// "processes, threads, ..."
std::string NamesOf(const Report& report) {
  std::string names;
  for (const TableSchema& table : ReportTablesOf(report, true)) {
    names += table.name + ", ";
  }
  for (const TableSchema& table : StreamedTables()) names += table.name + ", ";
  return names.substr(0, names.size() - 2);
}

}  // namespace

absl::StatusOr<std::vector<TableSchema>> TablesOf(
    const logformat::TraceInfo& info) {
  auto report = EmptyReport(info, {});
  if (!report.ok()) return report.status();
  report->wanted.preemptors = report->wanted.samples = true;
  std::vector<TableSchema> schemas = ReportTablesOf(*report, false);
  schemas.insert(schemas.end(), StreamedTables().begin(),
                 StreamedTables().end());
  return schemas;
}

absl::StatusOr<std::string> ExportTables(
    logformat::TraceReader& reader, const ExportRows& rows,
    const logformat::ProgressCallback& progress, TableWriter& writer) {
  auto empty = EmptyReport(reader.info(), {});
  if (!empty.ok()) return empty.status();
  std::vector<std::string> events;
  for (const auto& event : empty->events) events.push_back(event.name);
  const bool streams =
      std::ranges::any_of(StreamedTables(), [&](const TableSchema& table) {
        return table.name != "meta" && table.name != "frames" &&
               writer.Takes(table.name);
      });
  StreamObserver::Threads threads;
  if (streams) {
    auto found = ThreadsOf(rows, reader, progress);
    if (!found.ok()) return found.status();
    threads = *std::move(found);
  }
  StreamObserver observer(reader.info(), std::move(events), std::move(threads),
                          rows.texts, writer);
  RangeObserver in_range(rows.range, observer);
  RowWriter* const samples = observer.Rows(Streamed::kSamples);
  RowWriter* const frames = observer.Rows(Streamed::kFrames);
  const bool wakers = writer.Takes("wakers");
  SampleCallback on_sample;
  if (samples != nullptr) {
    on_sample = [&](const Samples& of, const TimedSample& sample) {
      WriteSample(of, sample, observer, *samples);
    };
  }
  auto report = Reconstruct(
      reader,
      {.observer = streams ? &in_range : nullptr,
       .rows = {.preemptors = writer.Takes("preemptors"),
                .samples = samples != nullptr || frames != nullptr || wakers},
       .range = rows.range,
       .on_sample = on_sample,
       .progress = [&](const logformat::Progress& done) {
         return writer.status().ok() && (!progress || progress(done));
       }});
  if (!writer.status().ok()) return writer.status();
  if (!report.ok()) return report.status();
  Report& named = *report;
  if (wakers) NameBlockedPlaces(named);
  std::optional<RowSelection> selection;
  if (rows.selects()) {
    auto selected = where::SelectRows(rows.where, named, rows.owners);
    if (!selected.ok()) return selected.status();
    selection = *std::move(selected);
  }
  if (!rows.texts) {
    for (FileRow& row : named.files) row.file.reset();
  }
  WriteReportTables(named, selection ? &*selection : nullptr, writer);
  if (frames != nullptr) WriteFrames(*named.samples, *frames);
  WriteMeta(named, observer.Rows(Streamed::kMeta));
  const absl::Status status = writer.Finish();
  if (status.ok()) return NamesOf(named);
  if (!absl::IsNotFound(status)) return status;
  return absl::NotFoundError(absl::StrFormat("%s; the trace has %s",
                                             status.message(), NamesOf(named)));
}

}  // namespace countrace::rmap
