#include "base/text/csv_field.h"

#include <catch2/catch.hpp>

namespace countrace::base {
namespace {

TEST_CASE("csv_field: quotes what would break a row", "[base][csv_field]") {
  CHECK(CsvField("") == "");
  CHECK(CsvField("plain text") == "plain text");
  CHECK(CsvField("a,b") == "\"a,b\"");
  CHECK(CsvField("say \"hi\"") == "\"say \"\"hi\"\"\"");
  CHECK(CsvField("two\nlines") == "\"two\nlines\"");
  CHECK(CsvField("two\r") == "\"two\r\"");
}

TEST_CASE("csv_field: no text is a formula", "[base][csv_field]") {
  CHECK(CsvField("=HYPERLINK(A1)") == "'=HYPERLINK(A1)");
  CHECK(CsvField("@sum,1") == "\"'@sum,1\"");
  CHECK(CsvField("+1+cmd") == "'+1+cmd");
  CHECK(CsvField("-bash") == "'-bash");
  CHECK(CsvField("\tx") == "'\tx");
  CHECK(CsvField("-5") == "-5");
  CHECK(CsvField("-1.5e+300") == "-1.5e+300");
  CHECK(CsvField("a=b") == "a=b");
}

}  // namespace
}  // namespace countrace::base
