#include "rmap/export/sqlite_writer.h"

#include <sqlite3.h>

#include <cstdint>
#include <span>
#include <utility>

#include "absl/strings/str_format.h"

namespace countrace::rmap {
namespace {

class SqliteRows final : public RowWriter {
 public:
  SqliteRows(TableWriter& writer, const TableSchema& schema,
             SqliteDatabase& database, Statement insert)
      : RowWriter(writer, schema),
        database_(database),
        insert_(std::move(insert)) {}

 protected:
  absl::Status Put(std::span<const Value> row) override {
    sqlite3_stmt* const insert = insert_.get();
    kept_.resize(row.size());
    for (std::size_t i = 0; i < row.size(); ++i) {
      Bind(insert, static_cast<int>(i) + 1, row[i], kept_[i]);
    }
    const int code = sqlite3_step(insert);
    // Before the reset, which forgets why.
    const absl::Status status =
        code == SQLITE_DONE ? absl::OkStatus() : database_.Error(code, "write");
    sqlite3_reset(insert);
    return status;
  }

 private:
  static void Bind(sqlite3_stmt* insert, int place, const Value& value,
                   std::string& kept) {
    if (const auto* number = std::get_if<std::int64_t>(&value)) {
      sqlite3_bind_int64(insert, place, *number);
    } else if (const auto* real = std::get_if<double>(&value)) {
      sqlite3_bind_double(insert, place, *real);
    } else if (const auto* raw = std::get_if<std::string_view>(&value)) {
      const std::string_view text = Utf8Text(*raw, kept);
      sqlite3_bind_text(insert, place, text.data() ? text.data() : "",
                        static_cast<int>(text.size()), SQLITE_STATIC);
    } else {
      sqlite3_bind_null(insert, place);
    }
  }

  SqliteDatabase& database_;
  const Statement insert_;
  std::vector<std::string> kept_;  // texts that are not as they came
};

// A place in the list for those that failed, which takes nothing.
class NoRows final : public RowWriter {
 public:
  using RowWriter::RowWriter;

 protected:
  absl::Status Put(std::span<const Value>) override { return absl::OkStatus(); }
};

}  // namespace

RowWriter* SqliteWriter::Begin(const TableSchema& schema) {
  absl::Status status = absl::OkStatus();
  if (tables_.empty()) status = database_.Run("BEGIN");
  status.Update(database_.Run(CreateTableSql(schema)));
  if (status.ok()) status.Update(database_.Run(CreateViewSql(schema)));
  std::string insert = "INSERT INTO " + QuotedName(schema.name) + " VALUES (";
  for (std::size_t i = 0; i < schema.columns.size(); ++i) {
    insert += i == 0 ? "?" : ",?";
  }
  auto prepared = database_.Prepare(insert + ")");
  status.Update(prepared.status());
  if (status.ok()) {
    tables_.push_back(std::make_unique<SqliteRows>(*this, schema, database_,
                                                   *std::move(prepared)));
  } else {
    Fail(std::move(status));
    tables_.push_back(std::make_unique<NoRows>(*this, schema));
  }
  return tables_.back().get();
}

absl::Status SqliteWriter::AddIndexes(const TableSchema& schema) {
  int number = 0;
  for (const std::vector<std::string>& columns : schema.indexes) {
    std::string list;
    for (const std::string& column : columns) {
      list += (list.empty() ? "" : ", ") + QuotedName(column);
    }
    const absl::Status status = database_.Run(absl::StrFormat(
        "CREATE INDEX %s ON %s (%s)",
        QuotedName(absl::StrFormat("%s_%d", schema.name, ++number)),
        QuotedName(schema.name), list));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status SqliteWriter::Finish() {
  if (!status().ok() || tables_.empty()) return status();
  absl::Status done = absl::OkStatus();
  if (!wanted_) {
    for (const auto& table : tables_) {
      if (done.ok()) done = AddIndexes(table->schema());
    }
  }
  if (done.ok()) done = database_.Run("COMMIT");
  tables_.clear();
  Fail(std::move(done));
  return status();
}

}  // namespace countrace::rmap
