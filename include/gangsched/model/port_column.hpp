#pragma once
#include <span>
#include <vector>

#include "gangsched/core/peer.hpp"
#include "gangsched/model/pod_class.hpp"
#include "gangsched/model/undo_log.hpp"

namespace gangsched::inline GANGSCHED_ABI::model {

/// The host ports in use on each node, sorted, one entry a use. Changes are undone by their opposite; memory for ports is kept, so that
/// undoing does not allocate.
class GANGSCHED_API port_column final : public column_base {
 public:
  explicit port_column(undo_log& undo) noexcept : undo_(&undo) {}

  [[nodiscard]] std::span<const host_port> operator[](row_t row) const noexcept {
    if (row >= data_.size()) return {};
    return {data_[row].data(), data_[row].size()};
  }
  void add(row_t row, host_port port) {
    if (undo_->recording()) undo_->make_room();
    insert(row, port);
    if (undo_->recording()) undo_->save(*this, row, added, pack(port));
  }
  /// No effect if it is not in use: in a trial of Kubernetes' it may have gone with another pod (quirk::trials_know_ports_once).
  void remove(row_t row, host_port port) {
    if (!is_used(row, port)) return;
    if (undo_->recording()) undo_->save(*this, row, removed, pack(port));
    erase(row, port);
  }
  [[nodiscard]] bool is_used(row_t row, host_port port) const noexcept;

  void restore(row_t row, std::uint32_t what, std::uint64_t word) noexcept override {
    if (what == added)
      erase(row, unpack(word));
    else
      insert(row, unpack(word));
  }
  void digest_into(digest& out, row_t rows) const override;

 private:
  static constexpr std::uint32_t added = 0, removed = 1;
  using ports = std::vector<host_port>;

  void insert(row_t row, host_port port);
  void erase(row_t row, host_port port) noexcept;
  static std::uint64_t pack(const host_port& p) noexcept {
    return (std::uint64_t{p.address.value} << 32) | (std::uint64_t{p.port} << 8) |
           static_cast<std::uint64_t>(p.protocol);
  }
  static host_port unpack(std::uint64_t word) noexcept {
    return {static_cast<protocol>(word & 0xff), static_cast<std::uint16_t>(word >> 8),
            symbol{static_cast<std::uint32_t>(word >> 32)}};
  }
  peer<undo_log> undo_;
  std::vector<ports> data_;  // of rows up to the last that had one
};

}  // namespace gangsched::inline GANGSCHED_ABI::model

#if GANGSCHED_HEADER_ONLY
#include "gangsched/src/model/port_column.cpp"
#endif
