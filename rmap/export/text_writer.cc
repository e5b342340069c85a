#include "rmap/export/text_writer.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <span>
#include <utility>
#include <vector>

#include "absl/strings/str_format.h"
#include "base/text/csv_field.h"
#include "base/text/name_escape.h"

namespace countrace::rmap {
namespace {

constexpr std::size_t kPartBytes = 256 << 10;

template <typename Number, typename... Format>
void AppendNumber(Number number, std::string& out, Format... format) {
  std::array<char, 400> text{};
  const auto end =
      std::to_chars(text.data(), text.data() + text.size(), number, format...);
  out.append(text.data(), end.ptr);
}

// Text that is the same in quotes of JSON, and in CSV without any.
bool IsPlain(std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20 || byte >= 0x7f || c == '"' || c == '\\' || c == ',') {
      return false;
    }
  }
  return true;
}

void AppendJsonText(std::string_view text, std::string& out) {
  if (IsPlain(text)) {
    out += '"';
    out += text;
    out += '"';
    return;
  }
  using Json = nlohmann::json;
  out +=
      Json(std::string(text))
          .dump(-1, ' ', /*ensure_ascii=*/true, Json::error_handler_t::replace);
}

void AppendCsvText(std::string_view text, std::string& out) {
  constexpr std::string_view kFormulas = "=+-@";
  if (IsPlain(text) &&
      (text.empty() || kFormulas.find(text.front()) == kFormulas.npos)) {
    out += text;
    return;
  }
  out += base::CsvField(base::EscapeName(text));
}

class TextRows final : public RowWriter {
 public:
  TextRows(TableWriter& writer, const TableSchema& schema, TextFormat format,
           const TextWriter::Parts& parts, std::string& text)
      : RowWriter(writer, schema), format_(format), parts_(parts), text_(text) {
    for (const TableColumn& column : schema.columns) {
      std::string& name = names_.emplace_back();
      if (format == TextFormat::kCsv) {
        AppendCsvText(column.name, text_);
        text_ += ',';
      } else {
        name = names_.size() == 1 ? "{" : ",";
        AppendJsonText(column.name, name);
        name += ':';
      }
    }
    if (format == TextFormat::kCsv) text_.replace(text_.size() - 1, 1, "\r\n");
  }

 protected:
  absl::Status Put(std::span<const Value> row) override {
    if (format_ == TextFormat::kCsv) {
      for (const Value& value : row) {
        AppendCsv(value, text_);
        text_ += ',';
      }
      text_.replace(text_.size() - 1, 1, "\r\n");
    } else {
      for (std::size_t i = 0; i < row.size(); ++i) {
        text_ += names_[i];
        AppendJson(row[i], text_);
      }
      text_ += "}\n";
    }
    if (text_.size() < kPartBytes) return absl::OkStatus();
    absl::Status status = parts_(text_);
    text_.clear();
    return status;
  }

 private:
  const TextFormat format_;
  const TextWriter::Parts& parts_;
  std::string& text_;
  std::vector<std::string> names_;  // JSON: what comes before each value
};

}  // namespace

void AppendCsv(const Value& value, std::string& out) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    AppendNumber(*number, out);
  } else if (const auto* real = std::get_if<double>(&value)) {
    // As many digits as it takes to read the same number.
    AppendNumber(*real, out, std::chars_format::fixed);
  } else if (const auto* text = std::get_if<std::string_view>(&value)) {
    AppendCsvText(*text, out);
  }
}

void AppendJson(const Value& value, std::string& out) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) {
    AppendNumber(*number, out);
  } else if (const auto* real = std::get_if<double>(&value);
             real != nullptr && std::isfinite(*real)) {
    out += nlohmann::json(*real).dump();
  } else if (const auto* text = std::get_if<std::string_view>(&value)) {
    AppendJsonText(*text, out);
  } else {
    out += "null";
  }
}

RowWriter* TextWriter::Begin(const TableSchema& schema) {
  rows_ = std::make_unique<TextRows>(*this, schema, format_, parts_, text_);
  return rows_.get();
}

absl::Status TextWriter::Finish() {
  if (rows_ == nullptr) {
    return absl::NotFoundError(
        absl::StrFormat("There is no table `%s`", base::EscapeName(table_)));
  }
  if (status().ok()) Fail(parts_(text_));
  text_.clear();
  return status();
}

}  // namespace countrace::rmap
