package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/optrace/optrace/bench/measure"
)

// numShards is how many servers the store has.
const numShards = 2

const clusterName = "fleet"

// shard is a server of ClickHouse.
type shard struct {
	dir, address string
	process      *exec.Cmd
	problems     bytes.Buffer
}

// runStore loads the files of processes into shards, until these have ended.
func (b *bench) runStore(ctx context.Context, ops int64, processes int) (c cost, err error) {
	loader, err := b.program(ctx, "contrib/clickhouse", "./cmd/optrace-clickhouse")
	if err != nil {
		return c, err
	}
	files, _, err := b.record(ctx, ops, processes)
	if err != nil {
		return c, err
	}
	if c.in, err = sizes(files); err != nil {
		return c, err
	}
	shards, err := b.shards()
	if err != nil {
		return c, err
	}
	for _, s := range shards {
		err = errors.Join(err, s.start(ctx, b.clickhouse))
	}
	if err == nil {
		c.cpu, err = load(ctx, loader, shards, files, ops)
	}
	for _, s := range shards {
		cpu, stopErr := s.stop()
		size, sizeErr := dirSize(filepath.Join(s.dir, "data"))
		c.cpu, c.out, err = c.cpu+cpu, c.out+size, errors.Join(err, stopErr, sizeErr, os.RemoveAll(s.dir))
	}
	return c, errors.Join(err, remove(files))
}

// load makes the tables on each shard, loads the files by way of the first one and fails unless
// all operations are there. It returns the processor time of the loader.
func load(ctx context.Context, loader string, shards []*shard, files []string, ops int64) (time.Duration, error) {
	for _, s := range shards {
		if _, _, err := measure.Command(ctx, 1, loader, "schema", "-apply", "-cluster", clusterName, "-addr", s.address); err != nil {
			return 0, err
		}
	}
	at := shards[0].address
	sample, _, err := measure.Command(ctx, ops, loader, append([]string{"load", "-addr", at}, files...)...)
	if err != nil {
		return 0, err
	}
	_, out, err := measure.Command(ctx, ops, loader, "report", "-json", "-addr", at)
	if err != nil {
		return 0, err
	}
	if want := fmt.Sprintf(`"count": %d,`, ops); !strings.Contains(string(out), want) {
		return 0, fmt.Errorf("the store does not have %d operations", ops)
	}
	// Parts that were merged lie on the disk for a while, by default for eight minutes.
	const settle = 6 * time.Second
	time.Sleep(settle)
	return sample.CPU, nil
}

// shards returns servers that are configured.
func (b *bench) shards() ([]*shard, error) {
	shards := make([]*shard, numShards)
	var remote strings.Builder
	for i := range shards {
		address, err := freeAddress()
		if err != nil {
			return nil, err
		}
		shards[i] = &shard{dir: b.path("shard"), address: address}
		host, port, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		fmt.Fprintf(&remote, "<shard><replica><host>%s</host><port>%s</port></replica></shard>", host, port)
	}
	for _, s := range shards {
		if err := s.configure(remote.String()); err != nil {
			return nil, err
		}
	}
	return shards, nil
}

// configure writes the files that configure the server.
func (s *shard) configure(remote string) error {
	interserver, err := freeAddress()
	if err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(s.address)
	_, other, otherErr := net.SplitHostPort(interserver)
	if err := errors.Join(err, otherErr, os.Mkdir(s.dir, 0o700)); err != nil {
		return err
	}
	users := `<yandex><profiles><default/></profiles><quotas><default/></quotas><users><default><password></password>
<networks><ip>127.0.0.1</ip></networks><profile>default</profile><quota>default</quota></default></users></yandex>`
	config := fmt.Sprintf(`<yandex><logger><level>warning</level><log>%[1]s/log</log><errorlog>%[1]s/errors</errorlog></logger>
<tcp_port>%[2]s</tcp_port><interserver_http_port>%[3]s</interserver_http_port><interserver_http_host>127.0.0.1</interserver_http_host>
<listen_host>127.0.0.1</listen_host><path>%[1]s/data/</path><tmp_path>%[1]s/tmp/</tmp_path><users_config>%[1]s/users.xml</users_config>
<default_profile>default</default_profile><default_database>default</default_database><mark_cache_size>67108864</mark_cache_size>
<merge_tree><old_parts_lifetime>1</old_parts_lifetime><cleanup_delay_period>1</cleanup_delay_period></merge_tree>
<remote_servers><%[4]s>%[5]s</%[4]s></remote_servers></yandex>`, s.dir, port, other, clusterName, remote)
	return errors.Join(os.WriteFile(filepath.Join(s.dir, "config.xml"), []byte(config), 0o600),
		os.WriteFile(filepath.Join(s.dir, "users.xml"), []byte(users), 0o600))
}

func (s *shard) start(ctx context.Context, program string) error {
	s.process = exec.CommandContext(ctx, program, "--config-file="+filepath.Join(s.dir, "config.xml"))
	s.process.Dir, s.process.Stdout, s.process.Stderr = s.dir, &s.problems, &s.problems
	if err := s.process.Start(); err != nil {
		return err
	}
	return await(ctx, s.address)
}

// stop ends the server and returns the processor time that it has used.
func (s *shard) stop() (time.Duration, error) {
	if s.process == nil || s.process.Process == nil {
		return 0, nil
	}
	err := errors.Join(s.process.Process.Signal(syscall.SIGTERM), s.process.Wait())
	if err != nil {
		err = fmt.Errorf("%w: %.2000s", err, s.problems.Bytes())
	}
	return s.process.ProcessState.UserTime() + s.process.ProcessState.SystemTime(), err
}

// dirSize returns the size of the files in a directory.
func dirSize(dir string) (n int64, err error) {
	err = filepath.WalkDir(dir, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			n += info.Size()
		}
		return err
	})
	return n, err
}
