#pragma once
#include <cstddef>
#include <string>
#include <vector>

namespace simulate {

/// A table in columns as wide as what is in them. Columns in which nothing is written are left out.
class table {
 public:
  struct column {
    std::string title;
    bool right = false;  ///< aligned
  };
  explicit table(std::vector<column> columns) : columns_(std::move(columns)) {}

  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] std::string text() const;

 private:
  std::vector<column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace simulate
