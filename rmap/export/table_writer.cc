#include "rmap/export/table_writer.h"

#include <cstddef>

#include "absl/strings/str_format.h"
#include "base/text/utf8.h"

namespace countrace::rmap {
namespace {

// The alternative of Value that a column of this type has.
std::size_t AlternativeOf(ValueType type) {
  switch (type) {
    case ValueType::kInteger:
      return Value(std::int64_t{0}).index();
    case ValueType::kReal:
      return Value(0.0).index();
    case ValueType::kText:
      return Value(std::string_view()).index();
  }
  return 0;
}

bool IsAscii(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) return false;
  }
  return true;
}

}  // namespace

const char* ValueTypeName(ValueType type) {
  constexpr const char* kNames[] = {"integer", "real", "text"};
  return kNames[static_cast<std::size_t>(type)];
}

void RowWriter::Write(std::span<const Value> row) {
  if (!writer_.status().ok()) return;
  absl::Status status = Check(row);
  if (status.ok()) status = Put(row);
  if (!status.ok()) writer_.Fail(std::move(status));
}

absl::Status RowWriter::Check(std::span<const Value> row) {
  if (row.size() != schema_.columns.size()) {
    return absl::InternalError(
        absl::StrFormat("A row of %s has another number of values: %d, not %d",
                        schema_.name, row.size(), schema_.columns.size()));
  }
  for (std::size_t i = 0; i < row.size(); ++i) {
    if (row[i].index() == 0) continue;
    const TableColumn& column = schema_.columns[i];
    if (const auto* text = std::get_if<std::string_view>(&row[i])) {
      writer_.has_other_bytes_ = writer_.has_other_bytes_ || !IsUtf8(*text);
    }
    if (row[i].index() == AlternativeOf(column.type)) continue;
    if (const auto* large = std::get_if<std::uint64_t>(&row[i])) {
      return absl::OutOfRangeError(absl::StrFormat(
          "%s.%s is %d, which no signed integer of 64 bits holds", schema_.name,
          column.name, *large));
    }
    return absl::InternalError(absl::StrFormat(
        "A value of %s.%s is not of its type", schema_.name, column.name));
  }
  return absl::OkStatus();
}

bool IsUtf8(std::string_view text) {
  std::string kept;
  return IsAscii(text) || Utf8Text(text, kept).data() == text.data();
}

std::string_view Utf8Text(std::string_view text, std::string& kept) {
  if (IsAscii(text)) return text;
  bool changed = false;
  kept.clear();
  for (std::size_t at = 0; at < text.size();) {
    const base::CodePoint point = base::DecodeFirst(text.substr(at));
    if (point.bytes == 0) {
      kept += "\uFFFD";
      changed = true;
      ++at;
    } else {
      kept += text.substr(at, point.bytes);
      at += point.bytes;
    }
  }
  return changed ? std::string_view(kept) : text;
}

}  // namespace countrace::rmap
