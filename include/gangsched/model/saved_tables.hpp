#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "gangsched/core/id.hpp"

/// Tables as plain data: what `slots` and `own_columns` save.
namespace gangsched::inline GANGSCHED_ABI::model {

/// The rows of one table: generations by row, and the free ones in the order in which they are taken next.
struct saved_rows {
  std::vector<std::uint32_t> generations;
  std::vector<row_t> free;
};

struct saved_columns {
  struct column {
    std::uint32_t scope = 0;
    bool by_host = false;
    std::string name;
    std::uint32_t facet = 0;
  };
  struct row {
    gangsched::row_t at = no_row;
    std::uint32_t scope = 0;
    std::string name;
  };
  struct word {
    std::uint32_t column = 0;
    row_t row = no_row;
    std::int64_t value = 0;
  };
  struct use {
    std::uint32_t column = 0;
    row_t row = no_row;
    std::uint32_t generation = 0;
    std::int64_t amount = 0;
  };
  struct note {
    row_t pod = no_row;
    std::vector<use> uses;
  };
  std::vector<column> all;
  std::vector<std::string> scopes;
  std::uint32_t makers = 0;
  saved_rows rows;
  std::vector<row> names;
  std::vector<word> words;
  std::vector<note> notes;
};

}  // namespace gangsched::inline GANGSCHED_ABI::model
