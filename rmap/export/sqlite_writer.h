// Tables as a SQLite database: a table each, indexes, and for each table of the
// report a view `report_NAME` that has its columns and its order.
//
// One transaction without a journal: a database that is not finished is of no
// use. Thread: one.
#ifndef COUNTRACE_RMAP_EXPORT_SQLITE_WRITER_H_
#define COUNTRACE_RMAP_EXPORT_SQLITE_WRITER_H_

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "rmap/export/sqlite_database.h"
#include "rmap/export/table_writer.h"

namespace countrace::rmap {

class SqliteWriter final : public TableWriter {
 public:
  // `database` must outlive it. `wanted`: only these tables, without indexes;
  // absent: all.
  explicit SqliteWriter(SqliteDatabase& database,
                        std::optional<std::set<std::string>> wanted = {})
      : database_(database), wanted_(std::move(wanted)) {}

  bool Takes(std::string_view table) const override {
    return !wanted_ || wanted_->contains(std::string(table));
  }
  RowWriter* Begin(const TableSchema& schema) override;
  absl::Status Finish() override;

 private:
  absl::Status AddIndexes(const TableSchema& schema);

  SqliteDatabase& database_;
  const std::optional<std::set<std::string>> wanted_;
  std::vector<std::unique_ptr<RowWriter>> tables_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_EXPORT_SQLITE_WRITER_H_
