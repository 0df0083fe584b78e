package gangsched

/*
#include "binding.h"
*/
import "C"

import "unsafe"

// Media is what an instance takes of its GPU's video engines.
type Media int32

const (
	MediaNone Media = C.GANGSCHED_MEDIA_NONE // nothing that another one could miss
	MediaAny  Media = C.GANGSCHED_MEDIA_ANY  // a share
	MediaOne  Media = C.GANGSCHED_MEDIA_ONE  // the one set that there is
	MediaAll  Media = C.GANGSCHED_MEDIA_ALL
)

// MIGProfile is a kind of MIG instance, as `nvidia-smi mig -lgip` and `-lgipp` list them.
type MIGProfile struct {
	Name            string // "1g.5gb"
	ComputeSlices   uint8  // the g of the name
	MemorySlices    uint8  // adjacent ones
	Starts          uint8  // bit s: an instance may begin at memory slice s
	MaxInstances    uint8  // on an empty GPU; 0: as many as the rest allows
	Media           Media
	Multiprocessors uint16 // 0: not known
	MemoryMiB       uint32 // that is usable; 0: not known
}

// MIGTable is the instances that a GPU can be divided into, of a product that the library does not know by its model.
type MIGTable struct {
	Name                        string
	ComputeSlices, MemorySlices uint8        // of the GPU: 1 to 8
	Profiles                    []MIGProfile // 1 to 64
}

// NUMACPU is a logical CPU. Numbers of cores are different across the whole node.
type NUMACPU struct {
	ID, Core, Socket uint32
	UncoreCache      uint32 // the last-level cache that it shares; where none is reported the socket
}

// HugePages are those of one size in one cell.
type HugePages struct {
	PageBytes uint64
	Bytes     uint64 // what containers may have
}

// NUMACell is one NUMA cell as the node reports it.
type NUMACell struct {
	ID          uint32
	CPUs        []NUMACPU // nil: memory only
	MemoryBytes uint64    // what containers may have, without huge pages
	HugePages   []HugePages
	Distances   []uint32 // to every cell by ascending id, 10 to 254; all cells have them or none
}

// NUMAPolicy is kubelet's topologyManagerPolicy.
type NUMAPolicy int32

const (
	NUMANone       NUMAPolicy = C.GANGSCHED_NUMA_NONE
	NUMABestEffort NUMAPolicy = C.GANGSCHED_NUMA_BEST_EFFORT
	NUMARestricted NUMAPolicy = C.GANGSCHED_NUMA_RESTRICTED
	NUMASingleCell NUMAPolicy = C.GANGSCHED_NUMA_SINGLE_CELL
)

// CPUBind is how a pod's own CPUs lie on cores: koord-scheduler's bind policies.
type CPUBind int32

const (
	CPUsNone          CPUBind = C.GANGSCHED_CPUS_NONE            // it has none
	CPUsFullCores     CPUBind = C.GANGSCHED_CPUS_FULL_CORES      // FullPCPUs
	CPUsSpreadByCores CPUBind = C.GANGSCHED_CPUS_SPREAD_BY_CORES // SpreadByPCPUs: one of each core
)

// CPUExclusive is what a pod's own CPUs are kept apart from, as far as others will do: CPUs of pods that say the same.
type CPUExclusive int32

const (
	CPUsTogether    CPUExclusive = C.GANGSCHED_CPUS_TOGETHER
	CPUsApartByCore CPUExclusive = C.GANGSCHED_CPUS_APART_BY_CORE // PCPULevel
	CPUsApartByCell CPUExclusive = C.GANGSCHED_CPUS_APART_BY_CELL // NUMANodeLevel
)

// NodeNUMA is a node's NUMA cells, and how its kubelet gives them out.
type NodeNUMA struct {
	Cells         []NUMACell
	Policy        NUMAPolicy
	WholePods     bool // topologyManagerScope pod; false: container
	PreferClosest bool // its option prefer-closest-numa-nodes: the cells must have distances
	StaticCPUs    bool // cpuManagerPolicy static; what follows are its options
	FullPCPUsOnly, DistributeCPUsAcrossNUMA, AlignBySocket, DistributeCPUsAcrossCores,
	StrictCPUReservation, PreferAlignCPUsByUncoreCache bool
	StaticMemory            bool     // memoryManagerPolicy Static
	ReservedCPUs            []uint32 // reservedSystemCPUs
	CPUBind                 CPUBind  // required of Guaranteed pods and those that bind CPUs anyway
	MostAllocatedCells      bool     // bound CPUs come from the cells with the fewest free ones; false: with the most
	CPUAmplificationPercent int32    // allocatable CPU is so much of what there is; 0: 100
}

func (a *arena) numbers(all []uint32) (*C.uint32_t, C.size_t) {
	made := list[C.uint32_t](a, len(all))
	for i, one := range all {
		made[i] = C.uint32_t(one)
	}
	return (*C.uint32_t)(first(made)), C.size_t(len(made))
}

func (a *arena) migTable(from *MIGTable) *C.gangsched_mig_table {
	if from == nil {
		return nil
	}
	to := one[C.gangsched_mig_table](a)
	to.struct_size = C.size_t(unsafe.Sizeof(*to))
	to.name = a.text(from.Name)
	to.compute_slices, to.memory_slices = C.uint8_t(from.ComputeSlices), C.uint8_t(from.MemorySlices)
	profiles := list[C.gangsched_mig_profile](a, len(from.Profiles))
	for i := range from.Profiles {
		profile, made := &from.Profiles[i], &profiles[i]
		made.struct_size = C.size_t(unsafe.Sizeof(*made))
		made.name = a.text(profile.Name)
		made.compute_slices, made.memory_slices = C.uint8_t(profile.ComputeSlices), C.uint8_t(profile.MemorySlices)
		made.starts, made.max_instances, made.media = C.uint8_t(profile.Starts), C.uint8_t(profile.MaxInstances), C.int32_t(profile.Media)
		made.multiprocessors, made.memory_mib = C.uint16_t(profile.Multiprocessors), C.uint32_t(profile.MemoryMiB)
	}
	to.profiles, to.profile_count = (*C.gangsched_mig_profile)(first(profiles)), C.size_t(len(profiles))
	return to
}

func (a *arena) numa(from *NodeNUMA) *C.gangsched_node_numa {
	if from == nil {
		return nil
	}
	to := one[C.gangsched_node_numa](a)
	to.struct_size = C.size_t(unsafe.Sizeof(*to))
	cells := list[C.gangsched_numa_cell](a, len(from.Cells))
	for i := range from.Cells {
		cell, made := &from.Cells[i], &cells[i]
		made.struct_size = C.size_t(unsafe.Sizeof(*made))
		made.id, made.memory_bytes = C.uint32_t(cell.ID), C.uint64_t(cell.MemoryBytes)
		cpus := list[C.gangsched_numa_cpu](a, len(cell.CPUs))
		for k, cpu := range cell.CPUs {
			cpus[k] = C.gangsched_numa_cpu{id: C.uint32_t(cpu.ID), core: C.uint32_t(cpu.Core), socket: C.uint32_t(cpu.Socket), uncore_cache: C.uint32_t(cpu.UncoreCache)}
		}
		made.cpus, made.cpu_count = (*C.gangsched_numa_cpu)(first(cpus)), C.size_t(len(cpus))
		pages := list[C.gangsched_hugepages](a, len(cell.HugePages))
		for k, page := range cell.HugePages {
			pages[k] = C.gangsched_hugepages{page_bytes: C.uint64_t(page.PageBytes), bytes: C.uint64_t(page.Bytes)}
		}
		made.hugepages, made.hugepage_count = (*C.gangsched_hugepages)(first(pages)), C.size_t(len(pages))
		made.distances, made.distance_count = a.numbers(cell.Distances)
	}
	to.cells, to.cell_count = (*C.gangsched_numa_cell)(first(cells)), C.size_t(len(cells))
	to.policy, to.whole_pods, to.prefer_closest = C.int32_t(from.Policy), C.bool(from.WholePods), C.bool(from.PreferClosest)
	to.static_cpus, to.static_memory = C.bool(from.StaticCPUs), C.bool(from.StaticMemory)
	to.full_pcpus_only, to.distribute_cpus_across_numa = C.bool(from.FullPCPUsOnly), C.bool(from.DistributeCPUsAcrossNUMA)
	to.align_by_socket, to.distribute_cpus_across_cores = C.bool(from.AlignBySocket), C.bool(from.DistributeCPUsAcrossCores)
	to.strict_cpu_reservation, to.prefer_align_cpus_by_uncorecache = C.bool(from.StrictCPUReservation), C.bool(from.PreferAlignCPUsByUncoreCache)
	to.reserved_cpus, to.reserved_cpu_count = a.numbers(from.ReservedCPUs)
	to.cpu_bind, to.most_allocated_cells = C.int32_t(from.CPUBind), C.bool(from.MostAllocatedCells)
	to.cpu_amplification_percent = C.int32_t(from.CPUAmplificationPercent)
	return to
}
