// Takes tables, row by row, into one format.
//
//   ExportTables --Takes, Begin--> TableWriter --> RowWriter --Write--> ...
//                --Finish--------> TableWriter
//
// Rows of several tables come mixed. The first error stays, and what comes
// after it has no effect. Thread: one.
#ifndef COUNTRACE_RMAP_EXPORT_TABLE_WRITER_H_
#define COUNTRACE_RMAP_EXPORT_TABLE_WRITER_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "rmap/export/table_schema.h"

namespace countrace::rmap {

class TableWriter;

class RowWriter {
 public:
  RowWriter(TableWriter& table, TableSchema schema)
      : writer_(table), schema_(std::move(schema)) {}
  virtual ~RowWriter() = default;
  RowWriter(const RowWriter&) = delete;
  RowWriter& operator=(const RowWriter&) = delete;

  // One value for each column, of its type.
  void Write(std::span<const Value> row);
  const TableSchema& schema() const { return schema_; }

 protected:
  // Values are absent, or of their column's type.
  virtual absl::Status Put(std::span<const Value> row) = 0;

 private:
  absl::Status Check(std::span<const Value> row);

  TableWriter& writer_;
  const TableSchema schema_;
};

class TableWriter {
 public:
  TableWriter() = default;
  virtual ~TableWriter() = default;
  TableWriter(const TableWriter&) = delete;
  TableWriter& operator=(const TableWriter&) = delete;

  // False: its rows need not be made, and Begin() is not called.
  virtual bool Takes(std::string_view /*table*/) const { return true; }
  // Requires: Takes(schema.name). Never null; valid as long as this object.
  virtual RowWriter* Begin(const TableSchema& schema) = 0;
  // Returns: the first error of all.
  virtual absl::Status Finish() = 0;

  const absl::Status& status() const { return status_; }
  void Fail(absl::Status status) { status_.Update(std::move(status)); }
  // A text of a row has bytes that are not UTF-8.
  bool has_other_bytes() const { return has_other_bytes_; }

 private:
  friend class RowWriter;

  bool has_other_bytes_ = false;
  absl::Status status_;
};

// Bytes that are not UTF-8 as U+FFFD, as JSON has them. `kept` holds the result
// if `text` has any.
std::string_view Utf8Text(std::string_view text, std::string& kept);
bool IsUtf8(std::string_view text);

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_EXPORT_TABLE_WRITER_H_
