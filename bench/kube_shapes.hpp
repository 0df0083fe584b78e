#pragma once
#include <string>
#include <vector>

#include "gangsched/gangsched.hpp"

/// The nodes and pods of the workloads that kube-scheduler was timed on. Pods that run are in the namespace sched-0, those to be
/// placed in sched-1; terms of affinity and spreading are on the pod's own colour, in both.
namespace bench {

struct node_options {
  bool small = false;     ///< 4 cores and 32 Gi in place of 32 cores and 64 Gi
  bool one_zone = false;  ///< in place of three
  bool adverse = false;   ///< 1,000 zones, every node another shape
};
/// "node-%05d", with a hostname, a zone and a rack of 32.
std::vector<gangsched::node_id> add_nodes(gangsched::cluster& to, int count, const node_options& how = {});
/// A node, made by `add_nodes` with @p how, has other images from now on, as its kubelet says; @p turn: which node, and which images.
void change_images(gangsched::cluster& of, const std::vector<gangsched::node_id>& nodes, int turn,
                   const node_options& how);

enum class kind : unsigned char {
  plain,
  anti,
  prefer,
  prefer_anti,
  zone,
  spread_hard,
  spread_soft,
  node_aff,
  mixed,   ///< two fifths plain, the rest evenly of the other seven above
  filler,  ///< one fits a node
  low,     ///< four on a small node; priority 0
  high,    ///< as large as three low ones; priority 10
  equal,   ///< the same with priority 0
  giant,   ///< fits no small node; priority 0
};

struct pod_options {
  bool by_selector = false;  ///< terms choose their namespaces by labels instead of names
  bool adverse = false;      ///< eight classes in turns, and who runs is of 97 sizes; low ones of five priorities
};
/// Number @p i of a kind.
gangsched::pod_spec pod_of(kind which, int i, const std::string& name, const char* ns, const pod_options& how = {});

/// Pods "init-%06d" that run: on all nodes in turn, those of kind zone on every third node, which are those of zone1,
/// or, adverse, are in all zones.
void add_running(gangsched::cluster& to, const std::vector<gangsched::node_id>& nodes, kind which, int count,
                 const pod_options& how = {});

/// @p format has one %d of any width.
std::string numbered(const char* format, int i);

}  // namespace bench
