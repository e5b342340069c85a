// The symbols of a file, to be searched: what dwfl_module_addrinfo() says,
// which looks at every symbol for each address.
//
// Thread: one at a time.
#ifndef COUNTRACE_RMAP_CODE_SYMBOL_TABLE_H_
#define COUNTRACE_RMAP_CODE_SYMBOL_TABLE_H_

#include <elfutils/libdwfl.h>
#include <gelf.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace countrace::rmap {

struct FoundSymbol {
  std::string name;
  GElf_Off into = 0;     // from its begin to the address
  GElf_Xword bytes = 0;  // 0: it has no size
  bool is_function = false;
};

class SymbolTable {
 public:
  // `module` must outlive it.
  explicit SymbolTable(Dwfl_Module* module);

  // As the module's addresses are. Absent: no symbol is there.
  std::optional<FoundSymbol> At(GElf_Addr address) const;

 private:
  struct Symbol {
    GElf_Addr value = 0;
    GElf_Xword bytes = 0;
    int number = 0;
    int binding = 0;  // the more, the better known
  };
  // Chosen among those with a size that cover the address; null: none does, or
  // only local ones where there is a label, which libdwfl prefers.
  const Symbol* Covering(GElf_Addr address) const;

  Dwfl_Module* const module_;
  int first_global_ = 0;
  std::vector<Symbol> sized_;  // by value, then by number
  // Where the last one of the symbols up to each ends.
  std::vector<GElf_Addr> ends_;
  std::vector<GElf_Addr> sizeless_;  // values, sorted
};

}  // namespace countrace::rmap

#endif  // COUNTRACE_RMAP_CODE_SYMBOL_TABLE_H_
