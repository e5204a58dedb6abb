package answer

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"runtime"
	"strconv"
	"testing"
	"time"

	"k8s.io/klog/v2"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"github.com/evenkeel/evenkeel/internal/testkit"
	"github.com/evenkeel/evenkeel/scorer/extender"
)

const (
	// loopbackHandler is the environment variable that makes TestLoopbackServer
	// serve.
	loopbackHandler = "EVENKEEL_LOOPBACK_HANDLER"
	// mallocsPath is where a server reports how many allocations it has made.
	mallocsPath = "/mallocs"
)

// TestLoopbackServer is not a test but the process that BenchmarkLoopback queries. It runs until
// its standard input is closed.
func TestLoopbackServer(t *testing.T) {
	handler := os.Getenv(loopbackHandler)
	if handler == "" {
		t.Skip("only BenchmarkLoopback needs it")
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	ctx, stop := context.WithCancel(klog.NewContext(t.Context(), klog.Logger{}))
	defer stop()
	go func() { served <- serveLoopback(ctx, t, handler, listener) }()
	if _, err := os.Stdout.WriteString(listener.Addr().String() + "\n"); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, os.Stdin)
	stop()
	if err := <-served; err != nil {
		t.Error(err)
	}
}

func serveLoopback(ctx context.Context, t *testing.T, handler string, listener net.Listener) error {
	if handler == "evenkeel" {
		server, err := extender.NewServer(extender.Config{
			Answerer: loopbackBridge(t).Answerer, Listener: listener, ShutdownTimeout: time.Second,
			Pages: map[string]http.Handler{mallocsPath: http.HandlerFunc(tellMallocs)},
		})
		if err != nil {
			return err
		}
		return server.Run(ctx)
	}
	if handler == "socket" {
		return answerSocket(ctx, listener)
	}
	mux := http.NewServeMux()
	mux.HandleFunc(mallocsPath, tellMallocs)
	mux.HandleFunc("/", map[string]http.HandlerFunc{"plain": answerPlainly, "bare": answerNothing}[handler])
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Second}
	context.AfterFunc(ctx, func() { _ = server.Close() })
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// loopbackBridge returns a cluster in which a tenth of the nodes is hot, spread such that this also
// holds for the nodes that a request names.
func loopbackBridge(t *testing.T) *bridge {
	t.Helper()
	bridge, hot := newBridge(t), 0
	names := testkit.NodeNames(benchNodes)
	for i, name := range names {
		used := int64(2000 + i*7919%3000)
		if (i/10+i)%10 == 0 {
			used = 7000
		}
		bridge.node(name, used)
	}
	bridge.observe()
	bridge.observer.Store().SetPod(testkit.Pod()) // kube-scheduler asks about the same pod repeatedly
	for _, reason := range bridge.filter(strange("some-pod", 750), names...) {
		if reason != extender.RejectNone {
			hot++
		}
	}
	if hot != benchNodes/10 {
		t.Fatalf("%d of %d nodes are hot, want a tenth", hot, benchNodes)
	}
	return bridge
}

func tellMallocs(w http.ResponseWriter, _ *http.Request) {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	_, _ = io.WriteString(w, strconv.FormatUint(stats.Mallocs, 10))
}

// answerPlainly decodes with encoding/json into the Kubernetes types, decides
// nothing and answers.
func answerPlainly(w http.ResponseWriter, r *http.Request) {
	var args extenderv1.ExtenderArgs
	if err := json.NewDecoder(r.Body).Decode(&args); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	var reply any = extenderv1.ExtenderFilterResult{Nodes: args.Nodes, NodeNames: args.NodeNames}
	if r.URL.Path == "/prioritize" {
		reply = scoreAlike(&args)
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(reply)
}

func scoreAlike(args *extenderv1.ExtenderArgs) extenderv1.HostPriorityList {
	list := extenderv1.HostPriorityList{}
	if args.NodeNames != nil {
		for _, name := range *args.NodeNames {
			list = append(list, extenderv1.HostPriority{Host: name, Score: 5})
		}
		return list
	}
	for i := range args.Nodes.Items {
		list = append(list, extenderv1.HostPriority{Host: args.Nodes.Items[i].Name, Score: 5})
	}
	return list
}

// answerNothing reads the request and replies with an empty body.
func answerNothing(_ http.ResponseWriter, r *http.Request) { _, _ = io.Copy(io.Discard, r.Body) }

// answerSocket answers one connection with a thread that blocks in the kernel, without net/http or
// Go's poller. No server on this machine can be faster.
func answerSocket(ctx context.Context, listener net.Listener) error {
	defer context.AfterFunc(ctx, func() { _ = listener.Close() })()
	conn, err := listener.Accept()
	if err != nil {
		return err
	}
	defer conn.Close()
	tcp, ok := conn.(*net.TCPConn)
	if !ok {
		return fmt.Errorf("%T is no TCP connection", conn)
	}
	file, err := tcp.File()
	if err != nil {
		return err
	}
	defer file.Close()
	file.Fd() // makes the file blocking
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	asking := &client{conn: file, incoming: bufio.NewReaderSize(file, 64<<10)}
	for asking.request() == nil {
		if _, err := file.WriteString("HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n0"); err != nil {
			return err
		}
	}
	return nil
}
