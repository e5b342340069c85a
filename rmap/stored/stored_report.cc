#include "rmap/stored/stored_report.h"

#include <array>
#include <fstream>
#include <memory>
#include <set>
#include <string_view>
#include <type_traits>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/text/name_escape.h"
#include "rmap/export/report_facts.h"
#include "rmap/export/streamed_tables.h"
#include "rmap/stored/stored_table.h"

namespace countrace::rmap {
namespace {

constexpr std::string_view kHeader("SQLite format 3\0", 16);

// More columns no table of SQLite has.
constexpr std::size_t kMostEvents = 2000;

class ReportReader {
 public:
  ReportReader(const std::string& path, SqliteDatabase& database)
      : path_(path), database_(database) {
    // As ExportTables().
    report_.wanted = {.preemptors = true, .samples = true};
  }

  absl::StatusOr<StoredReport> Read() {
    absl::Status status = ReadFacts();
    if (status.ok()) status = ReadEvents();
    StoredReport stored{.empty = report_, .report = {}};
    if (status.ok()) status = ReadTables();
    if (status.ok()) status = ReadBooks();
    if (!status.ok()) return status;
    stored.report = std::move(report_);
    return stored;
  }

 private:
  absl::Status Damaged(const std::string& what) const {
    return absl::DataLossError(absl::StrFormat("%s is damaged: %s; %s", path_,
                                               what, ExportAgain(path_)));
  }

  absl::Status ReadFacts() {
    const TableSchema& schema =
        StreamedTables()[static_cast<std::size_t>(Streamed::kMeta)];
    auto meta = StoredTable::Open(database_, path_, schema, {true, true});
    if (!meta.ok()) return meta.status();
    std::set<std::string> found;
    std::string version;
    while (true) {
      const auto more = meta->Next();
      if (!more.ok()) return more.status();
      if (!*more) break;
      const auto key = meta->At(0), value = meta->At(1);
      if (!key.ok()) return key.status();
      if (!value.ok()) return value.status();
      const auto* const name = std::get_if<std::string>(&*key);
      if (name == nullptr) return meta->Wrong(0);
      const auto* const text = std::get_if<std::string>(&*value);
      const std::string fact = text == nullptr ? "" : *text;
      if (*name == "schema") version = fact;
      // Else it has other facts.
      if (version == kTablesSchema && !SetFact(*name, fact, report_)) {
        return meta->Wrong(1);
      }
      found.insert(*name);
    }
    if (version != kTablesSchema) {
      return absl::InvalidArgumentError(absl::StrFormat(
          "%s has tables of the version `%s`, and this countrace reads `%s`: "
          "%s, with this version",
          path_, base::EscapeName(version), kTablesSchema, ExportAgain(path_)));
    }
    for (const Column<Report>& fact : ReportFacts()) {
      if (found.contains(FullName(fact))) continue;
      return absl::InvalidArgumentError(absl::StrFormat(
          "%s: the table `meta` has no `%s`, maybe of an older countrace: %s",
          path_, FullName(fact), ExportAgain(path_)));
    }
    return absl::OkStatus();
  }

  absl::Status ReadEvents() {
    const auto rows = ReadRows(database_, path_, EventsTable(report_));
    if (!rows.ok()) return rows.status();
    if (rows->size() > kMostEvents) return Damaged("it has too many events");
    for (const EventRow& row : *rows) {
      // Those of the kernel come first.
      if (row.has_books && report_.books.size() == report_.events.size()) {
        report_.books.emplace_back().known = false;
      }
      report_.events.push_back(row.event);
    }
    return absl::OkStatus();
  }

  absl::Status ReadBooks() {
    auto rows = ReadRows(database_, path_, BooksTable(report_));
    if (!rows.ok()) return rows.status();
    for (BooksRow& row : *rows) {
      const auto event = EventIndex(report_.events, row.event);
      if (!event || *event >= report_.books.size()) {
        return Damaged("it has books of `" + base::EscapeName(row.event) +
                       "`, which is no event of a CPU");
      }
      report_.books[*event] = row.books;
    }
    return absl::OkStatus();
  }

  absl::Status ReadTables() {
    absl::Status status;
    std::set<ProcessIndex> processes;
    VisitReportTables(
        report_, /*recorded=*/true,
        [&](const auto& table, auto& rows, ReportBy) {
          if (!status.ok()) return;
          auto read = ReadRows(database_, path_, table);
          status = read.status();
          if (!status.ok()) return;
          rows = *std::move(read);
          using Row = typename std::decay_t<decltype(rows)>::value_type;
          for (Row& row : rows) {
            if constexpr (std::is_same_v<Row, ProcessRow>) {
              processes.insert(row.index);
              if (!report_.owners) row.user = row.cgroup = kUnknownOwner;
            } else if constexpr (requires { row.process; }) {
              // A level can be of the machine.
              if (row.pid == 0 || processes.contains(row.process)) continue;
              status = Damaged(absl::StrFormat(
                  "table %s names process %d, which processes does not have",
                  table.schema().name,
                  static_cast<std::uint32_t>(row.process)));
              return;
            }
          }
        });
    return status;
  }

  const std::string& path_;
  SqliteDatabase& database_;
  Report report_;
};

}  // namespace

bool IsDatabase(const std::string& path) {
  std::array<char, kHeader.size()> begin{};
  std::ifstream(path, std::ios::binary).read(begin.data(), begin.size());
  return std::string_view(begin.data(), begin.size()) == kHeader;
}

absl::StatusOr<StoredReport> ReadStoredReport(const std::string& path,
                                              std::function<bool()> stop) {
  const auto database = SqliteDatabase::OpenToRead(path, std::move(stop));
  if (!database.ok()) return database.status();
  return ReportReader(path, **database).Read();
}

absl::Status KeepWanted(const WantedRows& wanted, Report& report) {
  const auto needs = [](const std::string& what, const std::string& instead) {
    return absl::InvalidArgumentError(absl::StrFormat(
        "%s needs the trace's records, and a database has rows alone: %s", what,
        instead));
  };
  const std::string trace = "report the trace itself";
  if (wanted.wakers_of == RowsOf::kThread) {
    return needs("which thread woke which",
                 "leave out --thread and --group-by thread, or " + trace);
  }
  if (wanted.preemptors && wanted.preemptors_of == RowsOf::kProcess) {
    return needs("what preempted processes, not threads",
                 "leave out --group-by, or " + trace);
  }
  if (wanted.fold_recursion) return needs("--fold-recursion", trace);
  if (!wanted.value.empty()) {
    return needs("rows by `" + base::EscapeName(wanted.value) + "`", trace);
  }
  report.wanted = wanted;
  if (!wanted.preemptors) report.preemptors.clear();
  for (WakerRow& row : report.wakers) {
    if (!wanted.samples) row.places.clear();
  }
  return absl::OkStatus();
}

}  // namespace countrace::rmap
