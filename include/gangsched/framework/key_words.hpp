#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "gangsched/core/config.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// The words of one key while a keyed hook puts them together, without allocating for the usual few.
class key_words {
 public:
  void push_back(std::int64_t word) {
    if (size_ < few_.size())
      few_[size_] = word;
    else if (size_ == few_.size())
      many_.assign(few_.begin(), few_.end());
    if (size_ >= few_.size()) many_.push_back(word);
    ++size_;
  }
  [[nodiscard]] std::span<const std::int64_t> all() const noexcept {
    return size_ <= few_.size() ? std::span{few_.data(), size_} : std::span{many_.data(), size_};
  }

 private:
  std::array<std::int64_t, 8> few_{};
  std::size_t size_ = 0;
  std::vector<std::int64_t> many_;
};

}  // namespace gangsched::inline GANGSCHED_ABI
