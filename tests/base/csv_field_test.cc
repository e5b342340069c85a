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

}  // namespace
}  // namespace countrace::base
