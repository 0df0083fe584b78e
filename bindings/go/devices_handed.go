package gangsched

/*
#include "binding.h"
*/
import "C"

import "unsafe"

func (a *arena) named(all []NamedCount) C.gangsched_named_counts {
	made := list[C.gangsched_named_count](a, len(all))
	for i := range all {
		made[i] = C.gangsched_named_count{name: a.text(all[i].Name), amount: C.int64_t(all[i].Amount)}
	}
	return C.gangsched_named_counts{items: (*C.gangsched_named_count)(first(made)), count: C.size_t(len(all))}
}

func (a *arena) value(of AttributeValue) C.gangsched_attribute_value {
	return C.gangsched_attribute_value{_type: C.int32_t(of.kind), text: a.text(of.text), number: C.int64_t(of.number)}
}

// known is a number that need not be known.
func known[Number int32 | int64, To ~int32 | ~int64](from *Number, to *To) C.bool {
	if from == nil {
		return false
	}
	*to = To(*from)
	return true
}

func (a *arena) capacities(all []Capacity) (*C.gangsched_capacity, C.size_t) {
	made := list[C.gangsched_capacity](a, len(all))
	for i := range all {
		from, to := &all[i], &made[i]
		to.struct_size = C.size_t(unsafe.Sizeof(*to))
		to.name, to.amount = a.text(from.Name), C.int64_t(from.Amount)
		if policy := from.Policy; policy != nil {
			to.has_policy = true
			to.has_standard, to.has_least = known(policy.Standard, &to.standard), known(policy.Least, &to.least)
			to.has_most, to.has_step = known(policy.Most, &to.most), known(policy.Step, &to.step)
			values := list[int64](a, len(policy.Values))
			copy(values, policy.Values)
			to.values, to.value_count = (*C.int64_t)(first(values)), C.size_t(len(values))
		}
	}
	return (*C.gangsched_capacity)(first(made)), C.size_t(len(made))
}

func (a *arena) devices(from *NodeDevices) *C.gangsched_node_devices {
	if from == nil {
		return nil
	}
	to := one[C.gangsched_node_devices](a)
	to.struct_size = C.size_t(unsafe.Sizeof(*to))
	to.model, to.memory_mib = a.text(from.Model), C.int64_t(from.MemoryMiB)
	to.compute_capability, to.replicas = C.int32_t(from.ComputeCapability), C.int32_t(from.Replicas)
	to.resource = a.text(from.Resource)
	gpus := list[C.gangsched_gpu](a, len(from.GPUs))
	for i := range from.GPUs {
		gpu := &from.GPUs[i]
		gpus[i].struct_size = C.size_t(unsafe.Sizeof(gpus[i]))
		gpus[i].id, gpus[i].unhealthy, gpus[i].mig = a.text(gpu.ID), C.bool(gpu.Unhealthy), C.int32_t(gpu.MIG)
		gpus[i].has_numa, gpus[i].has_pcie = known(gpu.NUMA, &gpus[i].numa), known(gpu.PCIe, &gpus[i].pcie)
		instances := list[C.gangsched_mig_instance](a, len(gpu.Instances))
		for k, instance := range gpu.Instances {
			instances[k] = C.gangsched_mig_instance{profile: a.text(instance.Profile), start: C.int32_t(instance.Start)}
		}
		gpus[i].instances, gpus[i].instance_count = (*C.gangsched_mig_instance)(first(instances)), C.size_t(len(instances))
	}
	to.gpus, to.gpu_count = (*C.gangsched_gpu)(first(gpus)), C.size_t(len(gpus))
	links := list[C.gangsched_gpu_link](a, len(from.Links))
	for i, link := range from.Links {
		links[i] = C.gangsched_gpu_link{nvlinks: C.int32_t(link.NVLinks), path: C.int32_t(link.Path)}
	}
	to.links, to.link_count = (*C.gangsched_gpu_link)(first(links)), C.size_t(len(links))
	partitions := list[C.gangsched_gpu_partition](a, len(from.Partitions))
	for i, partition := range from.Partitions {
		partitions[i] = C.gangsched_gpu_partition{gpus: C.uint32_t(partition.GPUs), score: C.int32_t(partition.Score)}
	}
	to.partitions, to.partition_count = (*C.gangsched_gpu_partition)(first(partitions)), C.size_t(len(partitions))
	if from.HonorPartitions {
		to.partition_policy = C.GANGSCHED_PARTITIONS_HONOR
	}
	others := list[C.gangsched_other_device](a, len(from.Others))
	for i := range from.Others {
		device, made := &from.Others[i], &others[i]
		made.struct_size = C.size_t(unsafe.Sizeof(*made))
		made.id, made.device_class, made.units = a.text(device.ID), a.text(device.Class), C.int64_t(device.Units)
		made.unhealthy, made.shared = C.bool(device.Unhealthy), C.bool(device.Shared)
		made.has_numa, made.has_pcie = known(device.NUMA, &made.numa), known(device.PCIe, &made.pcie)
		attributes := list[C.gangsched_attribute](a, len(device.Attributes))
		for k := range device.Attributes {
			attributes[k] = C.gangsched_attribute{name: a.text(device.Attributes[k].Name), value: a.value(device.Attributes[k].Value)}
		}
		made.attributes, made.attribute_count = (*C.gangsched_attribute)(first(attributes)), C.size_t(len(attributes))
		made.consumes = a.named(device.Consumes)
		made.capacities, made.capacity_count = a.capacities(device.Capacities)
	}
	to.others, to.other_count = (*C.gangsched_other_device)(first(others)), C.size_t(len(others))
	to.counters = a.named(from.Counters)
	to.mig_table, to.numa = a.migTable(from.MIGTable), a.numa(from.NUMA)
	to.memory_rule = C.int32_t(from.MemoryRule)
	return to
}

func (a *arena) requests(all []DeviceRequest) (*C.gangsched_device_request, C.size_t) {
	made := list[C.gangsched_device_request](a, len(all))
	for i := range all {
		from, to := &all[i], &made[i]
		to.struct_size = C.size_t(unsafe.Sizeof(*to))
		to.name, to.device_class, to.count = a.text(from.Name), a.text(from.Class), C.int32_t(from.Count)
		to.has_milli = known(from.Milli, &to.milli)
		to.memory_mib, to.memory_percent = C.int64_t(from.MemoryMiB), C.int32_t(from.MemoryPercent)
		to.mig_profile, to.models = a.text(from.MIGProfile), a.texts(from.Models)
		to.least_memory_mib, to.least_compute_capability = C.int64_t(from.LeastMemoryMiB), C.int32_t(from.LeastComputeCapability)
		to.within, to.within_preferred = C.int32_t(from.Within), C.bool(from.WithinPreferred)
		to.units, to.all, to.admin = C.int64_t(from.Units), C.bool(from.All), C.bool(from.Admin)
		selectors := list[C.gangsched_attribute_selector](a, len(from.Selectors))
		for k := range from.Selectors {
			selector := &from.Selectors[k]
			values := list[C.gangsched_attribute_value](a, len(selector.Values))
			for v := range selector.Values {
				values[v] = a.value(selector.Values[v])
			}
			selectors[k] = C.gangsched_attribute_selector{attribute: a.text(selector.Attribute), op: C.int32_t(selector.Op),
				values: (*C.gangsched_attribute_value)(first(values)), value_count: C.size_t(len(values))}
		}
		to.selectors, to.selector_count = (*C.gangsched_attribute_selector)(first(selectors)), C.size_t(len(selectors))
		to.cel, to.capacities = a.texts(from.CEL), a.named(from.Capacities)
		to.beside_gpus, to.beside_preferred = C.int32_t(from.BesideGPUs), C.bool(from.BesidePreferred)
		to.first_of, to.first_of_count = a.requests(from.FirstOf)
		to.container = C.uint16_t(from.Container)
	}
	return (*C.gangsched_device_request)(first(made)), C.size_t(len(made))
}

func (a *arena) constraints(all []DeviceConstraint) (*C.gangsched_device_constraint, C.size_t) {
	made := list[C.gangsched_device_constraint](a, len(all))
	for i := range all {
		from, to := &all[i], &made[i]
		to.attribute, to.distinct = a.text(from.Attribute), C.bool(from.Distinct)
		requests := list[int32](a, len(from.Requests))
		copy(requests, from.Requests)
		to.requests, to.request_count = (*C.int32_t)(first(requests)), C.size_t(len(requests))
		alternatives := list[Alternative](a, len(from.Alternatives))
		copy(alternatives, from.Alternatives)
		to.alternatives, to.alternative_count = (*C.gangsched_alternative)(first(alternatives)), C.size_t(len(alternatives))
	}
	return (*C.gangsched_device_constraint)(first(made)), C.size_t(len(made))
}

func (a *arena) held(all []HeldDevice) (*C.gangsched_held_device, C.size_t) {
	made := list[C.gangsched_held_device](a, len(all))
	for i := range all {
		from, to := &all[i], &made[i]
		to.struct_size = C.size_t(unsafe.Sizeof(*to))
		to.id = a.text(from.ID)
		to.has_request, to.has_mig_start = known(from.Request, &to.request), known(from.MIGStart, &to.mig_start)
		to.capacities = a.named(from.Capacities)
	}
	return (*C.gangsched_held_device)(first(made)), C.size_t(len(made))
}

func (a *arena) volumes(from *PodVolumes) *C.gangsched_pod_volumes {
	if from == nil {
		return nil
	}
	to := one[C.gangsched_pod_volumes](a)
	to.struct_size = C.size_t(unsafe.Sizeof(*to))
	to.unbound_claims = C.bool(from.UnboundClaims)
	to.has_nodes, to.nodes = C.bool(from.Nodes != nil), a.texts(from.Nodes)
	zones := list[C.gangsched_volume_zone](a, len(from.Zones))
	for i := range from.Zones {
		zones[i] = C.gangsched_volume_zone{key: a.text(from.Zones[i].Key), values: a.texts(from.Zones[i].Values)}
	}
	to.zones, to.zone_count = (*C.gangsched_volume_zone)(first(zones)), C.size_t(len(zones))
	disks := list[C.gangsched_used_disk](a, len(from.Disks))
	for i, disk := range from.Disks {
		disks[i] = C.gangsched_used_disk{id: a.text(disk.ID), read_only: C.bool(disk.ReadOnly)}
	}
	to.disks, to.disk_count = (*C.gangsched_used_disk)(first(disks)), C.size_t(len(disks))
	to.exclusive_claims = a.texts(from.ExclusiveClaims)
	attachments := list[C.gangsched_attached_volume](a, len(from.Attachments))
	for i, one := range from.Attachments {
		attachments[i] = C.gangsched_attached_volume{driver: a.text(one.Driver), id: a.text(one.ID)}
	}
	to.attachments, to.attachment_count = (*C.gangsched_attached_volume)(first(attachments)), C.size_t(len(attachments))
	to.has_bindable_nodes, to.bindable_nodes = C.bool(from.BindableNodes != nil), a.texts(from.BindableNodes)
	to.claim_problem = a.text(from.ClaimProblem)
	return to
}

func (a *arena) claim(from *ResourceClaimSpec) *C.gangsched_resource_claim_spec {
	to := one[C.gangsched_resource_claim_spec](a)
	to.struct_size = C.size_t(unsafe.Sizeof(*to))
	to.name, to.ns = a.text(from.Name), a.text(from.Namespace)
	to.devices, to.device_count = a.requests(from.Devices)
	to.constraints, to.constraint_count = a.constraints(from.Constraints)
	to.has_most_pods = known(from.MostPods, &to.most_pods)
	to.held_devices, to.held_device_count = a.held(from.HeldDevices)
	to.node.value = C.uint64_t(from.Node)
	return to
}
