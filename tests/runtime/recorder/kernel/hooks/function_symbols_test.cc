#include "runtime/recorder/kernel/hooks/function_symbols.h"

#include <catch2/catch.hpp>
#include <cstddef>
#include <string>

#include "tests/runtime/recorder/kernel/hooks/elf_sections.h"
#include "tests/support/trace_builder.h"

namespace countrace::runtime {
namespace {

// A program with so many functions `f`, and as many parts `f.cold`.
std::string Program(const std::string& path, std::size_t functions) {
  ElfSections program(COUNTRACE_PROGRAM_WITH_HOOKS);
  Elf64_Sym symbols[2] = {};
  for (Elf64_Sym& symbol : symbols) {
    symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    symbol.st_shndx = 1;
    symbol.st_value = program.head().e_entry;
  }
  symbols[0].st_name = 1;
  symbols[1].st_name = 3;
  std::string table(sizeof(Elf64_Sym), '\0');
  for (std::size_t i = 0; i < functions; ++i) {
    table.append(reinterpret_cast<const char*>(symbols), sizeof(symbols));
  }
  program.Replace(".symtab", table);
  program.Replace(".strtab", std::string("\0f\0f.cold", 10));
  program.Write(path);
  return path;
}

std::size_t Parts(const std::string& path) {
  const auto object = ReadFunctionSymbols(path);
  REQUIRE(object.ok());
  std::size_t parts = 0;
  for (const FunctionSymbol& function : object->functions) {
    if (function.symbol == "f") parts += function.moved.size();
  }
  return parts;
}

TEST_CASE("function symbols: each function of a name has all its parts",
          "[recorder][function_symbols]") {
  const test_support::TempDirectory folder;
  CHECK(Parts(Program(folder / "program", 30)) == 30 * 30);
}

TEST_CASE("function symbols: parts have a bound, whatever the names",
          "[recorder][function_symbols]") {
  const test_support::TempDirectory folder;
  CHECK(Parts(Program(folder / "program", 2000)) == 1'000'000);
}

}  // namespace
}  // namespace countrace::runtime
