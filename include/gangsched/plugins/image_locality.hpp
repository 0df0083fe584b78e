#pragma once
#include <vector>

#include "gangsched/framework/pod_part.hpp"
#include "gangsched/framework/points.hpp"

namespace gangsched::inline GANGSCHED_ABI {

/// The more of the pod's images a node has, the better (kube's ImageLocality). Over the images of init containers,
/// containers and image volumes, each as often as it is used: sum = Σ trunc(size · (nodes with it / nodes)) of those the node has;
/// score = 100 · (sum clamped to [least, most] − least) / (most − least), least = 23 MiB, most = 1000 MiB per init container and
/// container. The share of the nodes is a double, as in Kubernetes. Not skipped for pods without images: every node gets 0.
///
/// Keyed by which images a node has: nodes that are added, removed or get other images change the scores of others in `finish_score` only.
class image_locality {
 public:
  static constexpr std::string_view name = "ImageLocality";
  static constexpr std::int64_t default_weight = 1;
  using points = implements<point::pre_score, point::score>;
  static constexpr bool reads_population = false;
  static constexpr reads finish_reads = reads::images;
  using imaged = pod_part<pod_reads::images>;
  using shelf = node_view<reads::images | reads::name>;

  struct used_image {
    symbol name;
    std::int64_t times;
  };
  struct data {
    std::vector<used_image> images;  ///< by name symbol
  };

  [[nodiscard]] status pre_score(const imaged& pod, data& d) const {
    for (const symbol image : pod.images()) {
      std::size_t at = 0;
      while (at < d.images.size() && d.images[at].name < image) ++at;
      if (at < d.images.size() && d.images[at].name == image)
        ++d.images[at].times;
      else
        d.images.insert(d.images.begin() + static_cast<std::ptrdiff_t>(at), {image, 1});
    }
    return status::success();
  }

  /// A bit for each of the pod's images; the node's row if they are too many for that.
  [[nodiscard]] std::int64_t score_key(const imaged&, const data& d, shelf node) const {
    return d.images.size() < word ? images_on(d, node) : std::int64_t{node.id().row};
  }

  void finish_score(const pod_view& pod, const data& d, const cluster_view& cluster,
                    std::span<scored_group> groups) const {
    constexpr std::int64_t mib = 1024 * 1024;
    constexpr std::int64_t least = 23 * mib;
    const std::int64_t most = 1000 * mib * std::int64_t{pod.spec().image_containers};
    if (most == 0) {
      for (scored_group& group : groups) group.score = 0;
      return;
    }
    const double nodes = cluster.node_count();
    for (scored_group& group : groups) {
      std::int64_t sum = 0;
      const auto add = [&](const used_image& image) {
        const double share = static_cast<double>(cluster.image_nodes(image.name)) / nodes;
        const double part = static_cast<double>(cluster.image_size(image.name)) * share;
        // Clamped to the upper bound of the sum: the same result, without overflow.
        sum += image.times * (part < static_cast<double>(most) ? static_cast<std::int64_t>(part) : most);
        if (sum > most) sum = most;
      };
      each_image(d, cluster, group.score, add);
      if (sum < least) sum = least;
      group.score = max_node_score * (sum - least) / (most - least);
    }
  }

 private:
  static constexpr std::size_t word = 63;

  [[nodiscard]] static std::int64_t images_on(const data& d, const shelf& node) {
    std::int64_t found = 0;
    each_common(d, node.images(), [&](std::size_t i) { found |= std::int64_t{1} << i; });
    return found;
  }
  /// Calls visit(index in d.images) for the pod's images that are among @p there. Both lists are by name.
  template <class Visit>
  static void each_common(const data& d, std::span<const image_symbols> there, const Visit& visit) {
    std::size_t from = 0;
    for (std::size_t i = 0; i < d.images.size(); ++i) {
      std::size_t to = there.size();
      while (from < to) {
        const std::size_t middle = from + (to - from) / 2;
        if (there[middle].name < d.images[i].name)
          from = middle + 1;
        else
          to = middle;
      }
      if (from == there.size()) return;
      if (there[from].name == d.images[i].name) visit(i);
    }
  }
  template <class Visit>
  static void each_image(const data& d, const cluster_view& cluster, std::int64_t key, const Visit& visit) {
    if (d.images.size() < word) {
      for (std::size_t i = 0; i < d.images.size(); ++i) {
        if (((key >> i) & 1) != 0) visit(d.images[i]);
      }
    } else if (const auto node = cluster.node_at(static_cast<row_t>(key))) {
      each_common(d, node->images(), [&](std::size_t i) { visit(d.images[i]); });
    }
  }
};

static_assert(pre_score_plugin<image_locality> && score_plugin<image_locality>);

}  // namespace gangsched::inline GANGSCHED_ABI
