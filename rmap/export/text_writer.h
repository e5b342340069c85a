// One table as CSV or JSON lines, as its rows come.
#ifndef COUNTRACE_RMAP_EXPORT_TEXT_WRITER_H_
#define COUNTRACE_RMAP_EXPORT_TEXT_WRITER_H_

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "rmap/export/table_writer.h"

namespace countrace::rmap {

enum class TextFormat : std::uint8_t { kCsv, kJsonLines };

// A value as CSV has it in `report`: names escaped, and quoted where needed.
void AppendCsv(const Value& value, std::string& out);
// As JSON: ASCII only.
void AppendJson(const Value& value, std::string& out);

class TextWriter final : public TableWriter {
 public:
  // Takes the text in parts of some 256 KiB.
  using Parts = std::function<absl::Status(std::string_view)>;

  TextWriter(TextFormat format, std::string table, Parts parts)
      : format_(format), table_(std::move(table)), parts_(std::move(parts)) {}

  bool Takes(std::string_view table) const override { return table == table_; }
  RowWriter* Begin(const TableSchema& schema) override;
  // Errors: also NOT_FOUND there was no such table.
  absl::Status Finish() override;

 private:
  const TextFormat format_;
  const std::string table_;
  const Parts parts_;
  std::unique_ptr<RowWriter> rows_;
  std::string text_;
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_EXPORT_TEXT_WRITER_H_
